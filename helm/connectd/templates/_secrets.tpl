{{/* Where the chart looks for secrets: a ConfigMap, and the variables of a pod, are no place for them. */}}
{{- define "connectd.secretChecks" -}}
{{- include "connectd.noSecrets" (list . "worker.config" .Values.worker.config) -}}
{{- include "connectd.noSecrets" (list . "spark.conf" .Values.spark.conf) -}}
{{- range $name, $connector := .Values.connectors.items -}}
{{- include "connectd.noSecrets" (list $ (printf "connectors.items.%s.config" $name) $connector.config) -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if and (hasKey . "value") (hasPrefix "CONNECT_" (toString .name)) -}}
{{- $value := regexReplaceAllLiteral `\$\([A-Za-z_][A-Za-z0-9_]*\)` (toString .value) "${env:other}" -}}
{{- include "connectd.noSecrets" (list $ "extraEnv" (dict (include "connectd.keyOfVariable" .name) $value)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The key that a CONNECT_ variable stands for. */}}
{{- define "connectd.keyOfVariable" -}}
{{- trimPrefix "CONNECT_" . | lower | replace "___" "-" | replace "__" "\x00" | replace "_" "." | replace "\x00" "_" -}}
{{- end -}}

{{/* Refuses a map of properties with a secret in it: (root, where it is, the map). */}}
{{- define "connectd.noSecrets" -}}
{{- $where := index . 1 -}}
{{- $declared := (index . 0).Files.Lines "files/secret-names.txt" | compact | join "|" | replace "." "\\." -}}
{{- $isSecret := printf `(^|\.)(%s)$` $declared -}}
{{- range $key, $value := index . 2 -}}
{{- $text := include "connectd.text" $value -}}
{{- $found := "" -}}
{{- if regexMatch `(^|\.)sasl\.jaas\.config$` $key -}}
{{- $found = include "connectd.secretInJaas" $text -}}
{{- else if or (regexMatch $isSecret $key) (include "connectd.isTelling" $key) -}}
{{- $found = include "connectd.isLiteral" $text -}}
{{- end -}}
{{- if or $found (include "connectd.secretInUrl" $text) -}}
{{- fail (printf "%s has a secret in %s, which everybody could read who may read the objects of the release; put it into a Secret, name that in secrets, and let the whole secret be a reference: ${directory:/etc/connectd/secrets/<name>:<file>}" $where $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether a value is more than references: a literal, or a reference and something beside it. */}}
{{- define "connectd.isLiteral" -}}
{{- if not (regexMatch `^\s*((\$\{[^}]+\})+|true|false)?\s*$` .) -}}true{{- end -}}
{{- end -}}

{{/* Words that tell of a secret in a name; the same as in connectd/observe/redaction.py. */}}
{{- define "connectd.tellingWords" -}}
pass(?:word|wd|phrase)|secret|token|jaas|authorization|(?:api|access|private|session|keystore)[._-]?key
{{- end -}}

{{/* Whether a name tells of a secret itself, not of its file, its kind, or where Spark mounts it. */}}
{{- define "connectd.isTelling" -}}
{{- $aside := `(?i)(files?|paths?|location|class|provider|url|uri|type|algorithm|mechanism|arn|enabled|bitlength)$` -}}
{{- $mounted := `(^|\.)spark\.kubernetes\.(driver|executor)\.(secrets|secretKeyRef)\.` -}}
{{- if and (regexMatch (printf "(?i)%s" (include "connectd.tellingWords" .)) .) (not (regexMatch $aside .)) (not (regexMatch $mounted .)) -}}true{{- end -}}
{{- end -}}

{{/* Whether a login of JAAS has a secret in an option, or is not read as one at all. */}}
{{- define "connectd.secretInJaas" -}}
{{- $option := `([\w.-]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)` -}}
{{- if include "connectd.isLiteral" . -}}
{{- if not (regexMatch `^\s*[\w.$]+(\s+\w+)?\s*;?\s*$` (regexReplaceAllLiteral $option . "")) -}}true{{- end -}}
{{- range regexFindAll $option . -1 -}}
{{- $name := regexReplaceAll $option . "${1}" -}}
{{- $value := regexReplaceAll $option . "${2}" | trimAll `"'` -}}
{{- if and (include "connectd.isTelling" $name) (include "connectd.isLiteral" $value) -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether a text has a password in a URL, in its query, or in an option of Java. */}}
{{- define "connectd.secretInUrl" -}}
{{- $text := regexReplaceAllLiteral `\$\{[^}]+\}` . "" -}}
{{- $login := `://[^\s/?#@:"'<>]*:[^\s/?#"'<>]+@` -}}
{{- $option := printf `(?i)([?&;]|-D)[\w.-]*(%s)[\w.-]*=[^&;\s]` (include "connectd.tellingWords" .) -}}
{{- if or (regexMatch $login $text) (regexMatch $option $text) -}}true{{- end -}}
{{- end -}}
