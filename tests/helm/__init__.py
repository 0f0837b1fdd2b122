"""The Helm chart: rendered by Helm itself, and held against Kubernetes' own schemas."""
