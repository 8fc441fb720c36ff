{{/* Labels that only the pods of one component have: (list "server" .) */}}
{{- define "webhook.selector" -}}
app.kubernetes.io/name: multiarch-webhook
app.kubernetes.io/instance: {{ (index . 1).Values.name }}
app.kubernetes.io/component: {{ index . 0 }}
{{- end -}}

{{/* Name, namespace (none if empty) and labels: (list NAME NAMESPACE COMPONENT .) */}}
{{- define "webhook.metadata" -}}
name: {{ index . 0 }}
{{- with index . 1 }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "webhook.selector" (list (index . 2) (index . 3)) | nindent 2 }}
{{- end -}}

{{- define "webhook.configuration" -}}
{{- if and (eq .Values.configuration.mode "pin") (lt (len .Values.configuration.architectures) 2) -}}
{{- fail "configuration: mode pin needs both architectures" -}}
{{- end -}}
{{- toYaml .Values.configuration -}}
{{- end -}}

{{/* The Secret with the certificate. cert-manager's belongs to no release, so the two can't have one name. */}}
{{- define "webhook.secret" -}}
{{ .Values.name }}-{{ ternary "certificate" "cert-manager" (eq .Values.certificates "self-managed") }}
{{- end -}}

{{/* The taints of the configuration, as objects. */}}
{{- define "webhook.taints" -}}
{{- range .Values.configuration.taints }}
{{- $parts := splitList ":" . }}
{{- $pair := splitList "=" (first $parts) }}
- key: {{ first $pair | quote }}
  value: {{ ternary (last $pair) "" (eq (len $pair) 2) | quote }}
  effect: {{ last $parts }}
{{- end }}
{{- end -}}

{{/* The memory of a replica in MiB. */}}
{{- define "webhook.memoryMib" -}}
{{- $cache := .Values.configuration.cache.memoryMib -}}
{{- $memory := int (.Values.resources.memoryMib | default (add 160 (int (floor (mulf 1.5 $cache))))) -}}
{{- if lt $memory (int (add 80 $cache)) -}}
{{- fail (printf "resources.memoryMib must be at least %d for configuration.cache.memoryMib" (int (add 80 $cache))) -}}
{{- end -}}
{{- $memory -}}
{{- end -}}

{{/* Whether the server itself calls the Kubernetes API: "true" or nothing. */}}
{{- define "webhook.usesApi" -}}
{{- if or .Values.configuration.registries.pullSecrets .Values.configuration.events -}}true{{- end -}}
{{- end -}}

{{/* A Role with its RoleBinding for the server's service account: (list NAME NAMESPACE RULES .) */}}
{{- define "webhook.granted" -}}
{{- $root := index . 3 -}}
{{- $prefix := ternary "" "Cluster" (ne (index . 1) "") -}}
{{- $metadata := include "webhook.metadata" (list (index . 0) (index . 1) "server" $root) -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}Role
metadata:
  {{- $metadata | nindent 2 }}
rules:
  {{- index . 2 | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}RoleBinding
metadata:
  {{- $metadata | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $prefix }}Role
  name: {{ index . 0 }}
subjects:
  - kind: ServiceAccount
    name: {{ $root.Values.name }}
    namespace: {{ $root.Release.Namespace }}
{{- end -}}
