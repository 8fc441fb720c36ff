{{/* These templates make what multiarch/webhook/install makes; tests compare the two for many values. */}}

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
{{- $configuration := deepCopy .Values.configuration -}}
{{- if and $configuration.cache.file (not (regexMatch "^/[^/]+/" $configuration.cache.file)) -}}
{{- fail "configuration.cache.file must be in a folder, such as /var/cache/multiarch/images.sqlite" -}}
{{- end -}}
{{- if .Values.sharedCache -}}
{{- if $configuration.cache.sharedUrlFile -}}
{{- fail "sharedCache and configuration.cache.sharedUrlFile exclude each other" -}}
{{- end -}}
{{- $_ := set $configuration.cache "sharedUrlFile" "/etc/multiarch/shared-cache/url" -}}
{{- end -}}
{{- toYaml $configuration -}}
{{- end -}}

{{/* The Secret with the certificate: the two ways of issuing need different types, so it can't be the same. */}}
{{- define "webhook.secret" -}}
{{ .Values.name }}-{{ ternary "tls" "cert-manager" (eq .Values.certificates "self-managed") }}
{{- end -}}

{{/* The taints of the configuration, as objects. */}}
{{- define "webhook.taints" -}}
{{- range .Values.configuration.taints }}
{{- if not (regexMatch "^[^=:]+(=[^=:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$" .) }}
{{- fail (printf "configuration.taints: %q is not KEY=VALUE:EFFECT" .) }}
{{- end }}
{{- $parts := splitList ":" . }}
{{- $pair := splitList "=" (first $parts) }}
- key: {{ first $pair | quote }}
  value: {{ ternary (last $pair) "" (eq (len $pair) 2) | quote }}
  effect: {{ last $parts }}
{{- end }}
{{- end -}}

{{/* What the pods of both components have besides containers: (list SERVICEACCOUNT TOKEN .) */}}
{{- define "webhook.pod" -}}
{{- $root := index . 2 -}}
serviceAccountName: {{ index . 0 }}
automountServiceAccountToken: {{ index . 1 }}
enableServiceLinks: false
nodeSelector:
  kubernetes.io/os: linux
  {{- with $root.Values.nodeSelector }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
tolerations:
  {{- range include "webhook.taints" $root | fromYamlArray }}
  - key: {{ .key | quote }}
    operator: Equal
    {{- with .value }}
    value: {{ . | quote }}
    {{- end }}
    effect: {{ .effect }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "webhook.securityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
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

{{/* A Role with its RoleBinding for a service account: (list NAME NAMESPACE COMPONENT ACCOUNT RULES .) */}}
{{- define "webhook.granted" -}}
{{- $root := index . 5 -}}
{{- $prefix := ternary "" "Cluster" (ne (index . 1) "") -}}
{{- $metadata := include "webhook.metadata" (list (index . 0) (index . 1) (index . 2) $root) -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}Role
metadata:
  {{- $metadata | nindent 2 }}
rules:
  {{- index . 4 | nindent 2 }}
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
    name: {{ index . 3 }}
    namespace: {{ $root.Release.Namespace }}
{{- end -}}
