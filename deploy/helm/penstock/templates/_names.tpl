{{- define "penstock.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{- define "penstock.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "penstock.labels" -}}
{{ include "penstock.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "penstock.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "penstock.name" .) }}
{{- else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- /* Every secret that a reference in the settings reads, once. */ -}}
{{- define "penstock.secrets" -}}
{{- $names := .Values.secrets }}
{{- with .Values.authentication.passwordSecret.secretName }}{{ $names = append $names . }}{{ end }}
{{- with .Values.authentication.certificateAndKey.secretName }}{{ $names = append $names . }}{{ end }}
{{- if .Values.tls.enabled }}{{ range .Values.tls.trustedCertificates }}{{ $names = append $names .secretName }}{{ end }}{{ end }}
{{- $names | uniq | toJson }}
{{- end }}

{{- define "penstock.health" -}}
httpGet:
  path: {{ index . 1 }}
  port: rest
  {{- with index . 2 }}
  httpHeaders: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
