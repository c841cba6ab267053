{{- /* Rules about several values, which the schema could only refuse without a reason. */ -}}
{{- define "footlight.checks" -}}
{{- if and (eq .Values.database "sqlite") (gt (int .Values.replicas) 1) }}
{{- fail "replicas: a SQLite file belongs to one control plane. Set database=postgres, or replicas=1." }}
{{- end }}
{{- if and (eq .Values.database "sqlite") (not .Values.persistence.enabled) }}
{{- fail "persistence.enabled: without a volume the SQLite database is lost with the pod. Set it to true, or database=postgres." }}
{{- end }}
{{- if and (eq .Values.database "postgres") (not .Values.existingSecret) }}
{{- fail "existingSecret: name a Secret with DATABASE_URL, because database is postgres." }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) .Values.persistence.enabled (not .Values.persistence.existingClaim) (ne .Values.persistence.accessMode "ReadWriteMany") }}
{{- fail "persistence.accessMode: several replicas share the volume. Set it to ReadWriteMany, or persistence.enabled=false." }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) .Values.tls.enabled (not .Values.tls.existingSecret) }}
{{- fail "tls.existingSecret: several replicas need the same certificate. Name its Secret, or set tls.enabled=false behind an ingress." }}
{{- end }}
{{- if and .Values.ingress.enabled .Values.tls.enabled }}
{{- fail "tls.enabled: the ingress terminates TLS and connects to the plain port. Set tls.enabled=false." }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host: expected the name that people open." }}
{{- end }}
{{- if and .Values.metrics.enabled (not .Values.existingSecret) }}
{{- fail "existingSecret: name a Secret with SERVICE_METRICS_TOKEN, because metrics.enabled is true." }}
{{- end }}
{{- end }}
