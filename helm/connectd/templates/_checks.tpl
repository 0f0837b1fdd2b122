{{/* What cannot work is refused before anything is installed, with what to do instead. */}}
{{- define "connectd.checks" -}}
{{- $most := include "connectd.membersMax" . | int -}}
{{- if gt (int .Values.replicaCount) $most -}}
{{- fail (printf "replicaCount is %d, expected at most %d: workers of one group.id do not share the work yet, each would copy every table. Use a second release with a group.id, internal topics and tables of its own" (int .Values.replicaCount) $most) -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.maxReplicas) $most) -}}
{{- fail (printf "autoscaling.maxReplicas is %d, expected at most %d: workers of one group.id do not share the work yet, each would copy every table. Give the worker more CPU and memory instead (resources)" (int .Values.autoscaling.maxReplicas) $most) -}}
{{- end -}}
{{- if hasKey .Values.worker.config "listeners" -}}
{{- fail "worker.config has listeners, which probes and Service would not know of; set rest.port and rest.scheme instead" -}}
{{- end -}}
{{- if and (eq .Values.connectors.unlisted "delete") (not .Values.connectors.items) -}}
{{- fail "connectors.unlisted is delete and connectors.items is empty, which would delete every connector of the group; list what is to stay, or delete the last one by hand (curl -X DELETE)" -}}
{{- end -}}
{{- include "connectd.noSecrets" (list . "worker.config" .Values.worker.config) -}}
{{- range $name, $connector := .Values.connectors.items -}}
{{- include "connectd.noSecrets" (list $ (printf "connectors.items.%s.config" $name) $connector.config) -}}
{{- end -}}
{{- end -}}

{{/* A ConfigMap is no place for secrets; their names come from the declarations of all keys. */}}
{{- define "connectd.noSecrets" -}}
{{- $root := index . 0 -}}
{{- $where := index . 1 -}}
{{- $names := $root.Files.Lines "files/secret-names.txt" -}}
{{- range $key, $value := index . 2 -}}
{{- if and (has $key $names) $value (not (contains "${" (toString $value))) -}}
{{- fail (printf "%s has a secret in %s, which would be readable in a ConfigMap; put it into a Secret, name that in secrets, and refer to it: ${directory:/etc/connectd/secrets/<name>:<file>}" $where $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
