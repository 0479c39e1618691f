{{- define "ken-hub.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "ken-hub.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ken-hub.labels" -}}
{{ include "ken-hub.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "ken-hub.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The program writes no file and needs no privilege. */}}
{{- define "ken-hub.pod-security" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "ken-hub.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The configuration file. It has no secret: those are files of their own. */}}
{{- define "ken-hub.config" -}}
schema = "ken.hub.config.v1"
bind = "0.0.0.0:8750"
metrics = "0.0.0.0:9750"
database_file = "/etc/ken/secrets/url"
connections = {{ .Values.hub.connections | int }}
connections_per_address = {{ .Values.hub.connectionsPerAddress | int }}
log = {{ .Values.hub.log | quote }}
{{- with .Values.hub.publicUrl }}
public_url = {{ . | quote }}
{{- end }}
{{- with .Values.hub.config }}
{{ . }}
{{- end }}
{{- end -}}
