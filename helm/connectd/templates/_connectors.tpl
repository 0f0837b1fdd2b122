{{/* One file for each connector. More than a ConfigMap holds is refused here, with a way out. */}}
{{- define "connectd.connectorFiles" -}}
{{- $files := dict -}}
{{- $bytes := 0 -}}
{{- range $name, $connector := .Values.connectors.items -}}
{{- $config := dict -}}
{{- range $key, $value := $connector.config -}}
{{- $_ := set $config $key (include "connectd.text" $value) -}}
{{- end -}}
{{- $file := dict "name" $name "config" $config -}}
{{- with $connector.initialState -}}
{{- $_ := set $file "initial_state" . -}}
{{- end -}}
{{- $path := printf "%s.json" (sha256sum $name | trunc 16) -}}
{{- $_ := set $files $path (toPrettyJson $file) -}}
{{- $bytes = add $bytes (len $path) (len (get $files $path)) -}}
{{- end -}}
{{- if gt $bytes 1048576 -}}
{{- fail (printf "connectors.items are %d bytes, expected at most 1048576, the most that a ConfigMap holds; bring some of them to the worker by hand (connectd connectors apply --url ... files) and keep connectors.unlisted" $bytes) -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{/* The pod of the Job that brings the connectors of the group to what the values say. */}}
{{- define "connectd.connectorsPod" -}}
{{- $port := int .Values.rest.port -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- include "connectd.placement" . }}
containers:
  - name: connectors
    image: {{ include "connectd.image" . }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command: [connectd]
    args:
      - connectors
      - apply
      - --url
      - {{ printf "%s://%s.%s.svc:%d" .Values.rest.scheme (include "connectd.name" .) .Release.Namespace $port }}
      - --deadline
      - {{ int .Values.connectors.deadlineSeconds | quote }}
      {{- if eq .Values.connectors.unlisted "delete" }}
      - --delete-unlisted
      {{- end }}
      - /etc/connectd/connectors
    env:
      - name: HOME
        value: /tmp
      {{- with .Values.connectors.caSecret }}
      - name: SSL_CERT_FILE
        value: /etc/connectd/ca/ca.crt
      {{- end }}
      {{- with .Values.connectors.loginSecret }}
      - name: CONNECTD_USER
        valueFrom: {secretKeyRef: {name: {{ . }}, key: username}}
      - name: CONNECTD_PASSWORD
        valueFrom: {secretKeyRef: {name: {{ . }}, key: password}}
      {{- end }}
    securityContext: {{- toYaml .Values.securityContext | nindent 6 }}
    resources: {{- toYaml .Values.connectors.resources | nindent 6 }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      - {name: connectors, mountPath: /etc/connectd/connectors, readOnly: true}
      {{- if .Values.connectors.caSecret }}
      - {name: ca, mountPath: /etc/connectd/ca, readOnly: true}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  - name: connectors
    configMap: {name: {{ include "connectd.name" . }}-connectors}
  {{- with .Values.connectors.caSecret }}
  - name: ca
    secret: {secretName: {{ . }}, defaultMode: 0440}
  {{- end }}
{{- end -}}
