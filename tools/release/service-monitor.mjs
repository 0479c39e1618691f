// Validates ServiceMonitors, a JSON array on standard input, with the schema of the Prometheus operator.
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const monitors = JSON.parse(Buffer.concat(chunks).toString());
if (monitors.length !== 1) throw new Error(`${monitors.length} ServiceMonitors instead of 1`);
for (const monitor of monitors) new ServiceMonitor(monitor).validate();
