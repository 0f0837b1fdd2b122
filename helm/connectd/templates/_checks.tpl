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
{{- include "connectd.secretChecks" . -}}
{{- end -}}
