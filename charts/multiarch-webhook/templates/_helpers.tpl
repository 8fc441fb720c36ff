{{/* Labels that only the pods of one component have: (list "server" .) */}}
{{- define "webhook.selector" -}}
app.kubernetes.io/name: multiarch-webhook
app.kubernetes.io/instance: {{ (index . 1).Values.name }}
app.kubernetes.io/component: {{ index . 0 }}
{{- end -}}

{{/* All labels of an object of a component: (list "server" MORE .). Selectors select by those above, which win. */}}
{{- define "webhook.labels" -}}
{{- $own := include "webhook.selector" (list (index . 0) (index . 2)) | fromYaml -}}
{{- merge $own (index . 1) (index . 2).Values.commonLabels | toYaml -}}
{{- end -}}

{{/* Name, namespace (none if empty) and labels: (list NAME NAMESPACE COMPONENT .) */}}
{{- define "webhook.metadata" -}}
name: {{ index . 0 }}
{{- with index . 1 }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "webhook.labels" (list (index . 2) dict (index . 3)) | nindent 2 }}
{{- end -}}

{{/* The configuration file. What values.schema.json can't say, and `webhook serve` would reject, fails here. */}}
{{- define "webhook.configuration" -}}
{{- if and (eq .Values.configuration.mode "pin") (lt (len .Values.configuration.architectures) 2) -}}
{{- fail "configuration: mode pin needs both architectures" -}}
{{- end -}}
{{- range .Values.configuration.taints -}}
{{- if and (contains "/" .) (gt (len (first (splitList "/" .))) 253) -}}
{{- fail (printf "configuration.taints: the prefix of %s has more than 253 characters" .) -}}
{{- end -}}
{{- end -}}
{{- range .Values.configuration.registries.allowedNetworks -}}
{{- $network := . -}}
{{- $address := first (splitList "/" .) -}}
{{- $length := int (ternary (last (splitList "/" .)) "128" (contains "/" .)) -}}
{{- $width := 8 -}}
{{- $parts := splitList "." $address -}}
{{- if contains ":" $address -}}
{{- $width = 16 -}}
{{- $halves := splitList "::" $address -}}
{{- $parts = splitList ":" (first $halves) | compact -}}
{{- $last := splitList ":" (rest $halves | join "") | compact -}}
{{- range until (sub 8 (add (len $parts) (len $last)) | int) -}}{{- $parts = append $parts "0" -}}{{- end -}}
{{- $parts = concat $parts $last -}}
{{- end -}}
{{- range $index, $part := $parts -}}
{{- $hosts := 1 -}}
{{- range until (sub $width (sub $length (mul $width $index) | max 0 | min $width) | int) -}}{{- $hosts = mul 2 $hosts -}}{{- end -}}
{{- if mod (int64 (ternary (printf "0x%s" $part) $part (eq $width 16))) $hosts -}}
{{- fail (printf "configuration.registries.allowedNetworks: %s has host bits set" $network) -}}
{{- end -}}
{{- end -}}
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

{{/* The memory limit of a replica. */}}
{{- define "webhook.memory" -}}
{{- $needed := add 256 (int (floor (mulf 1.5 .Values.configuration.cache.memoryMib))) -}}
{{- $memory := .Values.resources.limits.memory | default .Values.resources.requests.memory | default (printf "%dMi" $needed) -}}
{{- $mib := mul (regexFind "^[0-9]+" $memory | int) (ternary 1024 1 (hasSuffix "Gi" $memory)) -}}
{{- if lt $mib $needed -}}
{{- fail (printf "resources.limits.memory must be at least %dMi for configuration.cache.memoryMib" $needed) -}}
{{- end -}}
{{- $request := .Values.resources.requests.memory | default $memory -}}
{{- if gt (mul (regexFind "^[0-9]+" $request | int) (ternary 1024 1 (hasSuffix "Gi" $request))) $mib -}}
{{- fail "resources.requests.memory must be at most resources.limits.memory" -}}
{{- end -}}
{{- $memory -}}
{{- end -}}
