{{/* Whether there is a worker at all, whom the Job could call. */}}
{{- define "connectd.hasWorkers" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 0) -}}true{{- end -}}
{{- end -}}

{{- define "connectd.chartName" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of most objects; the release's own if that names the chart already. */}}
{{- define "connectd.name" -}}
{{- $chart := include "connectd.chartName" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $chart .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $chart | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "connectd.headlessName" -}}{{ include "connectd.name" . }}-workers{{- end -}}

{{/* Where executors find the driver; only this and the pods' names in DNS are behind it. */}}
{{- define "connectd.driverHost" -}}
{{ include "connectd.headlessName" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "connectd.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "connectd.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "connectd.executorServiceAccountName" -}}
{{- $account := .Values.spark.kubernetes.executorServiceAccount -}}
{{- if $account.create -}}
{{- $account.name | default (printf "%s-executor" (include "connectd.name" .)) -}}
{{- else -}}
{{- $account.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "connectd.image" -}}
{{- $variant := ternary "-spark" "" .Values.spark.enabled -}}
{{- $tag := .Values.image.tag | default (printf "%s%s" .Chart.AppVersion $variant) -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{/* What selects objects of this release; immutable in a StatefulSet. */}}
{{- define "connectd.selector" -}}
app.kubernetes.io/name: {{ include "connectd.chartName" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "connectd.workerSelector" -}}
{{ include "connectd.selector" . }}
app.kubernetes.io/component: worker
{{- end -}}

{{- define "connectd.labels" -}}
{{ include "connectd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "connectd.sparkOnKubernetes" -}}
{{- if and .Values.spark.enabled .Values.spark.kubernetes.enabled -}}true{{- end -}}
{{- end -}}
