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
{{- include "connectd.restChecks" . -}}
{{- include "connectd.objectChecks" . -}}
{{- include "connectd.exactNumbers" (list "worker.config" .Values.worker.config) -}}
{{- include "connectd.exactNumbers" (list "spark.conf" .Values.spark.conf) -}}
{{- range $name, $connector := .Values.connectors.items -}}
{{- if ne (toString (get $connector.config "name" | default $name)) $name -}}
{{- fail (printf "connectors.items.%s.config has the name %v, expected %s, the name by which it stands in connectors.items; take it out, or rename the item" $name (get $connector.config "name") $name) -}}
{{- end -}}
{{- include "connectd.exactNumbers" (list (printf "connectors.items.%s.config" $name) $connector.config) -}}
{{- end -}}
{{- include "connectd.secretChecks" . -}}
{{- end -}}

{{/* What the REST API asks of callers who cannot bring it: kubelet, Job, Prometheus. */}}
{{- define "connectd.restChecks" -}}
{{- $config := .Values.worker.config -}}
{{- if eq .Values.rest.scheme "https" -}}
{{- $prefix := "" -}}
{{- range $key, $_ := $config -}}
{{- if hasPrefix "listeners.https." $key -}}{{- $prefix = "listeners.https." -}}{{- end -}}
{{- end -}}
{{- $store := printf "%sssl.keystore." $prefix -}}
{{- if not (or (hasKey $config (print $store "location")) (hasKey $config (print $store "key"))) -}}
{{- fail "rest.scheme is https, and worker.config has no certificate for it; set listeners.https.ssl.keystore.location to a file of a Secret (secrets) and listeners.https.ssl.keystore.type to PEM or PKCS12" -}}
{{- end -}}
{{- if eq (get $config (printf "%sssl.client.auth" $prefix) | toString | lower | trim) "required" -}}
{{- fail (printf "worker.config has %sssl.client.auth=required, and the kubelet, whose probes decide about the pod, has no certificate: it would be restarted for ever; set it to requested and ask for a login (connectd.rest.basic.auth.credentials.file), or limit callers by networkPolicy" $prefix) -}}
{{- end -}}
{{- end -}}
{{- $monitor := .Values.metrics.serviceMonitor -}}
{{- if and $monitor.enabled (index $config "connectd.rest.basic.auth.credentials.file") (not $monitor.basicAuth) (not (index $config "connectd.rest.basic.auth.public.paths")) -}}
{{- fail "worker.config asks for a login, and metrics.serviceMonitor.basicAuth gives Prometheus none; set it, or name /metrics in connectd.rest.basic.auth.public.paths" -}}
{{- end -}}
{{- end -}}

{{/* What Kubernetes would refuse, or what would come twice in an object. */}}
{{- define "connectd.objectChecks" -}}
{{- $name := include "connectd.name" . -}}
{{- if not (regexMatch `^[a-z]([-a-z0-9]*[a-z0-9])?$` $name) -}}
{{- fail (printf "objects would be named %s, expected small letters, digits and -, a letter first, as names of Services are; set fullnameOverride" $name) -}}
{{- end -}}
{{- $scale := .Values.autoscaling -}}
{{- if and $scale.enabled (gt (int $scale.minReplicas) (int $scale.maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas is %d, more than autoscaling.maxReplicas, %d; make it smaller" (int $scale.minReplicas) (int $scale.maxReplicas)) -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (has (toString .Values.podDisruptionBudget.maxUnavailable) (list "0" "0%")) -}}
{{- fail "podDisruptionBudget.maxUnavailable is 0, which would forbid to drain the nodes of the worker; set 1, or disable podDisruptionBudget" -}}
{{- end -}}
{{- range .Values.extraVolumes -}}
{{- if or (has .name (list "tmp" "config")) (regexMatch `^secret-[0-9]+$` (toString .name)) -}}
{{- fail (printf "extraVolumes has %s, which is a volume of the chart; give it another name" .name) -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if and (hasKey . "value") (not (kindIs "string" .value)) -}}
{{- fail (printf "extraEnv has a value of %s that is no text, which Kubernetes refuses; put it into quotes" .name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.service.nodePort (eq .Values.service.type "ClusterIP") -}}
{{- fail "service.nodePort is set and service.type is ClusterIP; set that to NodePort or LoadBalancer" -}}
{{- end -}}
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
