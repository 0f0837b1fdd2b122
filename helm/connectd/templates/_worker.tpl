{{/* A value as a line of text: YAML's numbers are floating point here, 10000000 would be 1e+07. */}}
{{- define "connectd.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- printf "%.0f" . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* All keys of the worker as YAML: what the chart knows by itself, then worker.config. */}}
{{- define "connectd.workerConfig" -}}
{{- $config := dict "listeners" (printf "%s://:%d" .Values.rest.scheme (int .Values.rest.port)) -}}
{{- $name := include "connectd.name" . -}}
{{- $_ := set $config "group.id" $name -}}
{{- range list "config" "offset" "status" -}}
{{- $_ := set $config (printf "%s.storage.topic" .) (printf "%s-%s%s" $name . (ternary "" "s" (eq . "status"))) -}}
{{- end -}}
{{- if .Values.secrets -}}
{{- $java := "org.apache.kafka.common.config.provider." -}}
{{- $_ := set $config "config.providers" "file,directory" -}}
{{- range $name, $class := dict "file" "FileConfigProvider" "directory" "DirectoryConfigProvider" -}}
{{- $_ := set $config (printf "config.providers.%s.class" $name) (print $java $class) -}}
{{- $_ := set $config (printf "config.providers.%s.param.allowed.paths" $name) "/etc/connectd/secrets" -}}
{{- end -}}
{{- end -}}
{{- if index .Values.worker.config "connectd.rest.basic.auth.credentials.file" -}}
{{- $paths := list .Values.startupProbe.path .Values.livenessProbe.path .Values.readinessProbe.path "/health" -}}
{{- $_ := set $config "connectd.rest.basic.auth.public.paths" ($paths | uniq | join ",") -}}
{{- end -}}
{{- if include "connectd.sparkOnKubernetes" . -}}
{{- $config = merge (include "connectd.sparkConfig" . | fromYaml) $config -}}
{{- end -}}
{{- if .Values.spark.enabled -}}
{{- range $key, $value := .Values.spark.conf -}}
{{- $_ := set $config (print "spark.conf." $key) (include "connectd.text" $value) -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := .Values.worker.config -}}
{{- $_ := set $config $key (include "connectd.text" $value) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Spark in client mode: the driver is in the worker's pod, executors are pods that it creates. */}}
{{- define "connectd.sparkConfig" -}}
{{- $spark := .Values.spark.kubernetes -}}
spark.master: k8s://https://kubernetes.default.svc
spark.conf.spark.kubernetes.namespace: {{ .Release.Namespace | quote }}
spark.conf.spark.kubernetes.container.image: {{ include "connectd.image" . | quote }}
spark.conf.spark.kubernetes.container.image.pullPolicy: {{ .Values.image.pullPolicy | quote }}
{{- with .Values.imagePullSecrets }}
spark.conf.spark.kubernetes.container.image.pullSecrets: {{ join "," . | quote }}
{{- end }}
spark.conf.spark.kubernetes.authenticate.executor.serviceAccountName: {{ include "connectd.executorServiceAccountName" . | quote }}
spark.conf.spark.kubernetes.executor.podTemplateFile: /etc/connectd/executor.yaml
spark.conf.spark.driver.host: {{ include "connectd.driverHost" . | quote }}
spark.conf.spark.driver.bindAddress: 0.0.0.0
spark.conf.spark.driver.port: {{ $spark.driverPort | int | quote }}
spark.conf.spark.driver.blockManager.port: {{ add $spark.driverPort 1 | quote }}
spark.conf.spark.executor.instances: {{ $spark.executors | int | quote }}
spark.conf.spark.executor.cores: {{ $spark.executorCores | int | quote }}
spark.conf.spark.executor.memory: {{ $spark.executorMemory | quote }}
spark.conf.spark.executor.memoryOverhead: {{ $spark.executorMemoryOverhead | quote }}
{{- end -}}

{{/* The properties file, with the escapes of java.util.Properties. */}}
{{- define "connectd.properties" -}}
{{- range $key, $value := include "connectd.workerConfig" . | fromYaml }}
{{- $name := $key | replace "\\" "\\\\" | replace " " "\\ " | replace ":" "\\:" | replace "=" "\\=" }}
{{- $text := $value | replace "\\" "\\\\" | replace "\r" "\\r" | replace "\n" "\\n" | replace "\t" "\\t" }}
{{ $name }}={{ if hasPrefix " " $text }}\{{ end }}{{ $text }}
{{- end }}
{{- end -}}

{{/* Seconds from SIGTERM to SIGKILL: more than the worker takes by its own clock. */}}
{{- define "connectd.graceSeconds" -}}
{{- $config := include "connectd.workerConfig" . | fromYaml -}}
{{- $own := index $config "connectd.shutdown.grace.ms" | default "25000" -}}
{{- $wanted := .Values.terminationGracePeriodSeconds -}}
{{- if regexMatch "^[0-9]+$" $own -}}
{{- $least := add (divf (int64 $own) 1000.0 | ceil | int64) 10 -}}
{{- if kindIs "invalid" $wanted -}}
{{- $least -}}
{{- else if lt (int64 $wanted) $least -}}
{{- fail (printf "terminationGracePeriodSeconds is %d, expected at least %d: connectd.shutdown.grace.ms (%s) and 10 s; leave it empty, or make that shorter" (int64 $wanted) $least $own) -}}
{{- else -}}
{{- int64 $wanted -}}
{{- end -}}
{{- else if kindIs "invalid" $wanted -}}
{{- fail (printf "connectd.shutdown.grace.ms is %s, which only the worker can resolve; set terminationGracePeriodSeconds to it and 10 s" $own) -}}
{{- else -}}
{{- int64 $wanted -}}
{{- end -}}
{{- end -}}

{{- define "connectd.probe" -}}
{{- $probe := index . 1 -}}
httpGet:
  path: {{ $probe.path }}
  port: rest
  scheme: {{ upper (index . 0).Values.rest.scheme }}
{{ omit $probe "path" | toYaml }}
{{- end -}}
