{{/* The worker's pod. */}}
{{- define "connectd.podSpec" -}}
serviceAccountName: {{ include "connectd.serviceAccountName" . }}
automountServiceAccountToken: {{ eq "true" (include "connectd.sparkOnKubernetes" .) }}
{{- /* Variables of Services would begin with CONNECT_ in a release of that name, as keys do. */}}
enableServiceLinks: false
terminationGracePeriodSeconds: {{ include "connectd.graceSeconds" . }}
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- include "connectd.placement" . }}
{{- with .Values.initContainers }}
initContainers: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: worker
    {{- include "connectd.workerContainer" . | nindent 4 }}
  {{- with .Values.sidecars }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumes:
  - name: tmp
    emptyDir: {sizeLimit: {{ .Values.tmpSizeLimit }}}
  - name: config
    configMap: {name: {{ include "connectd.name" . }}}
  {{- range $number, $secret := .Values.secrets }}
  - name: secret-{{ $number }}
    secret: {secretName: {{ $secret }}, defaultMode: 0440}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "connectd.placement" -}}
{{- range $field := list "imagePullSecrets" "priorityClassName" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with index $.Values $field }}
{{- if eq $field "imagePullSecrets" }}
imagePullSecrets: {{- range . }}
  - name: {{ . }}
{{- end }}
{{- else }}
{{ $field }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "connectd.workerContainer" -}}
image: {{ include "connectd.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command: [connectd]
args: [run, /etc/connectd/worker.properties]
env:
  - name: HOME
    value: /tmp
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  {{- /* Variables win over the file, so what somebody has put into that must not be set here. */}}
  {{- if not (hasKey .Values.worker.config "rest.advertised.host.name") }}
  - name: CONNECT_REST_ADVERTISED_HOST_NAME
    value: $(POD_NAME).{{ include "connectd.driverHost" . }}
  {{- end }}
  {{- if include "connectd.sparkOnKubernetes" . }}
  # Executors end with the pod, whatever happens to the driver in it.
  - name: CONNECT_SPARK_CONF_SPARK_KUBERNETES_DRIVER_POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - {name: rest, containerPort: {{ int .Values.rest.port }}}
startupProbe: {{- include "connectd.probe" (list . .Values.startupProbe) | nindent 2 }}
livenessProbe: {{- include "connectd.probe" (list . .Values.livenessProbe) | nindent 2 }}
readinessProbe: {{- include "connectd.probe" (list . .Values.readinessProbe) | nindent 2 }}
{{- with .Values.lifecycle }}
lifecycle: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .Values.securityContext | nindent 2 }}
resources: {{- ternary .Values.spark.resources .Values.resources .Values.spark.enabled | toYaml | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  {{- /* Where the image has its own, and where runbooks look. */}}
  - {name: config, mountPath: /etc/connectd/worker.properties, subPath: worker.properties, readOnly: true}
  {{- if include "connectd.sparkOnKubernetes" . }}
  - {name: config, mountPath: /etc/connectd/executor.yaml, subPath: executor.yaml, readOnly: true}
  {{- end }}
  {{- range $number, $secret := .Values.secrets }}
  - name: secret-{{ $number }}
    mountPath: /etc/connectd/secrets/{{ $secret }}
    readOnly: true
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* What Spark makes an executor's pod from; it adds image, arguments, environment, resources. */}}
{{- define "connectd.executorPod" -}}
apiVersion: v1
kind: Pod
metadata:
  labels: {{- include "connectd.selector" . | nindent 4 }}
    app.kubernetes.io/component: executor
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext: {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.spark.kubernetes.executorPodSpec }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  containers:
    - name: executor
      securityContext: {{- omit .Values.securityContext "readOnlyRootFilesystem" | toYaml | nindent 8 }}
{{- end -}}
