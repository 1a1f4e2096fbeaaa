// SPDX-License-Identifier: Apache-2.0
// The life of a ConfigMap through the fabric8 client; one line on stdout for each step.
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public class Client {
  private static String json(ConfigMap map) {
    StringBuilder text = new StringBuilder();
    new TreeMap<>(map.getData()).forEach((key, value) ->
        text.append(text.length() == 0 ? "" : ",").append('"').append(key).append("\":\"").append(value).append('"'));
    return "{" + text + "}";
  }

  public static void main(String[] arguments) throws Exception {
    String namespace = arguments[0];
    String name = "from-java";
    List<String> seen = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch end = new CountDownLatch(1);
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      var maps = client.configMaps().inNamespace(namespace);
      var watch = maps.watch(new Watcher<ConfigMap>() {
        @Override
        public void eventReceived(Action action, ConfigMap map) {
          if (map.getMetadata().getName().equals(name)) {
            seen.add(action.name());
            if (action == Action.DELETED) {
              end.countDown();
            }
          }
        }

        @Override
        public void onClose(WatcherException cause) {
          end.countDown();
        }
      });
      ConfigMap made = maps.resource(new ConfigMapBuilder().withNewMetadata().withName(name)
          .addToLabels("by", "java").endMetadata().addToData("a", "1").build()).create();
      System.out.println("created " + json(made));
      StringBuilder names = new StringBuilder();
      maps.withLabel("by", "java").list().getItems().forEach(one -> names.append(one.getMetadata().getName()));
      System.out.println("listed " + names);
      System.out.println("patched " + json(maps.withName(name)
          .patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\":{\"b\":\"2\"}}")));
      int stale = 200;
      try {
        maps.resource(made).update();
      } catch (KubernetesClientException refused) {
        stale = refused.getCode();
      }
      System.out.println("stale " + stale);
      maps.withName(name).delete();
      System.out.println("absent " + (maps.withName(name).get() == null ? 404 : 200));
      end.await(30, TimeUnit.SECONDS);
      watch.close();
      System.out.println("watched " + String.join(",", seen));
    }
  }
}
