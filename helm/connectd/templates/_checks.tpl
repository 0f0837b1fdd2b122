{{/* What cannot work is refused before anything is installed, with what to do instead. */}}
{{- define "connectd.checks" -}}
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
{{- include "connectd.labelChecks" . -}}
{{- include "connectd.exactNumbers" (list "worker.config" .Values.worker.config) -}}
{{- include "connectd.exactNumbers" (list "spark.conf" .Values.spark.conf) -}}
{{- range $name, $connector := .Values.connectors.items -}}
{{- include "connectd.exactNumbers" (list (printf "connectors.items.%s.config" $name) $connector.config) -}}
{{- end -}}
{{- include "connectd.secretChecks" . -}}
{{- end -}}

{{/* A label or an annotation that would come twice in an object. */}}
{{- define "connectd.labelChecks" -}}
{{- if hasKey .Values.podAnnotations "checksum/config" -}}
{{- fail "podAnnotations has checksum/config, by which the chart restarts the pod; take it out" -}}
{{- end -}}
{{- range list "helm.sh/hook" "helm.sh/hook-delete-policy" -}}
{{- if hasKey $.Values.connectors.annotations . -}}
{{- fail (printf "connectors.annotations has %s, which the chart sets; take it out" .) -}}
{{- end -}}
{{- end -}}
{{- $own := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" -}}
{{- $metrics := .Values.metrics -}}
{{- $added := dict "metrics.serviceMonitor.labels" $metrics.serviceMonitor.labels "metrics.prometheusRule.labels" $metrics.prometheusRule.labels "metrics.dashboard.labels" $metrics.dashboard.labels -}}
{{- range $where, $labels := merge (dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels) $added -}}
{{- range $key, $_ := $labels -}}
{{- if has $key $own -}}
{{- fail (printf "%s has %s, which is the chart's own label; take it out (nameOverride changes app.kubernetes.io/name)" $where $key) -}}
{{- else if and (hasKey $added $where) (hasKey $.Values.commonLabels $key) -}}
{{- fail (printf "%s has %s, which commonLabels gives to every object; take it out of one of them" $where $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Numbers of YAML are floating point for Helm: (where they are, the map). */}}
{{- define "connectd.exactNumbers" -}}
{{- $where := index . 0 -}}
{{- range $key, $value := index . 1 -}}
{{- if and (kindIs "float64" $value) (or (ge $value 9007199254740992.0) (le $value -9007199254740992.0)) -}}
{{- fail (printf "%s has a number in %s that Helm would round; put it into quotes" $where $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
