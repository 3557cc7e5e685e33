{{- /* How a client of Kafka reaches the brokers: a dictionary, the same for the worker and for its connectors. */ -}}
{{- define "penstock.client" -}}
{{- $client := dict }}
{{- $type := .Values.authentication.type }}
{{- $sasl := has $type (list "plain" "scram-sha-256" "scram-sha-512") }}
{{- $tls := or .Values.tls.enabled (eq $type "tls") }}
{{- if or $sasl $tls }}
{{- $_ := set $client "security.protocol" (ternary (ternary "SASL_SSL" "SASL_PLAINTEXT" $tls) "SSL" $sasl) }}
{{- end }}
{{- if and .Values.tls.enabled .Values.tls.trustedCertificates }}
{{- $references := list }}
{{- range .Values.tls.trustedCertificates }}
{{- $references = append $references (printf "${dir:/mnt/secrets/%s:%s}" .secretName .certificate) }}
{{- end }}
{{- $_ := set $client "ssl.truststore.type" "PEM" }}
{{- $_ := set $client "ssl.truststore.certificates" (join "\\n" $references) }}
{{- end }}
{{- if eq $type "tls" }}
{{- $pair := .Values.authentication.certificateAndKey }}
{{- $secret := required "authentication.certificateAndKey.secretName is needed with authentication.type=tls" $pair.secretName }}
{{- $_ := set $client "ssl.keystore.type" "PEM" }}
{{- $_ := set $client "ssl.keystore.certificate.chain" (printf "${dir:/mnt/secrets/%s:%s}" $secret (default "user.crt" $pair.certificate)) }}
{{- $_ := set $client "ssl.keystore.key" (printf "${dir:/mnt/secrets/%s:%s}" $secret (default "user.key" $pair.key)) }}
{{- end }}
{{- if $sasl }}
{{- $secret := required (printf "authentication.passwordSecret.secretName is needed with authentication.type=%s" $type) .Values.authentication.passwordSecret.secretName }}
{{- $user := required (printf "authentication.username is needed with authentication.type=%s" $type) .Values.authentication.username }}
{{- $password := printf "${dir:/mnt/secrets/%s:%s}" $secret (default "password" .Values.authentication.passwordSecret.password) }}
{{- $module := ternary "org.apache.kafka.common.security.plain.PlainLoginModule" "org.apache.kafka.common.security.scram.ScramLoginModule" (eq $type "plain") }}
{{- $_ := set $client "sasl.mechanism" (upper $type) }}
{{- $_ := set $client "sasl.jaas.config" (printf "%s required username=\"%s\" password=\"%s\";" $module $user $password) }}
{{- end }}
{{- toJson $client }}
{{- end }}

{{- /* The worker's properties: its own, then config, which wins. */ -}}
{{- define "penstock.properties" -}}
{{- $all := dict "bootstrap.servers" .Values.bootstrapServers "group.id" .Values.groupId }}
{{- range $kind := list "config" "offset" "status" }}
{{- $_ := set $all (printf "%s.storage.topic" $kind) (printf "%s-%s" $.Values.groupId (ternary "status" (printf "%ss" $kind) (eq $kind "status"))) }}
{{- end }}
{{- $_ := set $all "listeners" "http://0.0.0.0:8083" }}
{{- $_ := set $all "rest.advertised.host.name" "${env:POD_IP}" }}
{{- $service := include "penstock.name" . }}
{{- $names := list $service }}
{{- range $suffix := list "" ".svc" ".svc.cluster.local" }}{{ $names = append $names (printf "%s.%s%s" $service $.Release.Namespace $suffix) }}{{ end }}
{{- $_ := set $all "penstock.rest.allowed.hosts" (join "," $names) }}
{{- $_ := set $all "plugin.path" "/plugins" }}
{{- $_ := set $all "config.providers" "env,dir" }}
{{- $_ := set $all "config.providers.env.class" "org.apache.kafka.common.config.provider.EnvVarConfigProvider" }}
{{- $_ := set $all "config.providers.dir.class" "org.apache.kafka.common.config.provider.DirectoryConfigProvider" }}
{{- /* Connectors can have references, too: only to what is there for them. */}}
{{- $_ := set $all "config.providers.env.param.allowlist.pattern" (join "|" (prepend .Values.allowedEnv "POD_IP")) }}
{{- $_ := set $all "config.providers.dir.param.allowed.paths" "/mnt/secrets" }}
{{- $_ := set $all "penstock.paths.allowed" (join "," .Values.allowedPaths) }}
{{- if .Values.spark.kubernetes }}
{{- $_ := set $all "spark.driver.host" "${env:POD_IP}" }}
{{- $_ := set $all "spark.kubernetes.namespace" .Release.Namespace }}
{{- end }}
{{- range $key, $value := include "penstock.client" . | fromJson }}
{{- range $prefix := list "" "producer." "consumer." "admin." }}
{{- $_ := set $all (printf "%s%s" $prefix $key) $value }}
{{- end }}
{{- end }}
{{- range $key, $value := .Values.config }}{{ $_ := set $all $key $value }}{{ end }}
{{- range $key, $value := $all }}
{{- /* Helm reads numbers as floats, which print as 1e+06. */}}
{{ $key }}={{ ternary $value (toJson $value) (kindIs "string" $value) }}
{{- end }}
{{- end }}
