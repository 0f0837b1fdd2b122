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
{{- range .Values.extraEnv -}}
{{- if eq (toString .name) "CONNECT_LISTENERS" -}}
{{- fail "extraEnv has CONNECT_LISTENERS, which probes and Service would not know of; set rest.port and rest.scheme instead" -}}
{{- else if eq (toString .name) "CONNECT_CONNECTD_SHUTDOWN_GRACE_MS" -}}
{{- fail "extraEnv has CONNECT_CONNECTD_SHUTDOWN_GRACE_MS, which the pod's grace period would not know of; set connectd.shutdown.grace.ms in worker.config instead" -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey .Values.lifecycle "preStop") (kindIs "invalid" .Values.terminationGracePeriodSeconds) -}}
{{- fail "lifecycle.preStop takes time of the pod's grace period, and the chart cannot know how much; set terminationGracePeriodSeconds to the longest that it takes, connectd.shutdown.grace.ms and 10 s" -}}
{{- end -}}
{{- include "connectd.secretChecks" . -}}
{{- end -}}
