"""Alert rules and dashboards, as Prometheus and Grafana read them."""
