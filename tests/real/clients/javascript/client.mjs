// SPDX-License-Identifier: Apache-2.0
// The life of a ConfigMap through the official JavaScript client; one line on stdout for each step.
import * as k8s from '@kubernetes/client-node';

const namespace = process.argv[2];
const name = 'from-javascript';
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);

async function code(request) {
  try {
    await request;
    return 200;
  } catch (error) {
    return error.code;
  }
}

const seen = [];
let ended;
const end = new Promise((resolve) => { ended = resolve; });
const watch = await new k8s.Watch(config).watch(
  `/api/v1/namespaces/${namespace}/configmaps`, {},
  (type, object) => {
    if (object.metadata.name === name) {
      seen.push(type);
      if (type === 'DELETED') ended();
    }
  },
  () => ended());

const made = await core.createNamespacedConfigMap({
  namespace, body: { metadata: { name, labels: { by: 'javascript' } }, data: { a: '1' } },
});
console.log(`created ${JSON.stringify(made.data)}`);
const listed = await core.listNamespacedConfigMap({ namespace, labelSelector: 'by=javascript' });
console.log(`listed ${listed.items.map((one) => one.metadata.name)}`);
const patched = await core.patchNamespacedConfigMap(
  { name, namespace, body: { data: { b: '2' } } },
  k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
console.log(`patched ${JSON.stringify(patched.data)}`);
console.log(`stale ${await code(core.replaceNamespacedConfigMap({ name, namespace, body: made }))}`);
await core.deleteNamespacedConfigMap({ name, namespace });
console.log(`absent ${await code(core.readNamespacedConfigMap({ name, namespace }))}`);
await end;
watch.abort();
console.log(`watched ${seen}`);
process.exit(0);
