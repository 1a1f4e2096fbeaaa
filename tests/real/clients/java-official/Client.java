// SPDX-License-Identifier: Apache-2.0
// The life of a ConfigMap through the official Java client; one line on stdout for each step.
import com.google.gson.reflect.TypeToken;
import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.KubeConfig;
import io.kubernetes.client.util.PatchUtils;
import io.kubernetes.client.util.Watch;
import java.io.FileReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

public class Client {
  private static String json(V1ConfigMap map) {
    StringBuilder text = new StringBuilder();
    new TreeMap<>(map.getData()).forEach((key, value) ->
        text.append(text.length() == 0 ? "" : ",").append('"').append(key).append("\":\"").append(value).append('"'));
    return "{" + text + "}";
  }

  private static int code(Call call) {
    try {
      call.run();
      return 200;
    } catch (ApiException refused) {
      return refused.getCode();
    }
  }

  private interface Call {
    void run() throws ApiException;
  }

  public static void main(String[] arguments) throws Exception {
    String namespace = arguments[0];
    String name = "from-java-official";
    KubeConfig config = KubeConfig.loadKubeConfig(new FileReader(System.getenv("KUBECONFIG")));
    ApiClient client = ClientBuilder.kubeconfig(config).setReadTimeout(Duration.ofSeconds(30)).build();
    CoreV1Api api = new CoreV1Api(client);
    String begin = api.listNamespacedConfigMap(namespace).execute().getMetadata().getResourceVersion();
    V1ConfigMap made = api.createNamespacedConfigMap(namespace,
        new V1ConfigMap().metadata(new V1ObjectMeta().name(name).putLabelsItem("by", name)).putDataItem("a", "1")).execute();
    System.out.println("created " + json(made));
    StringBuilder names = new StringBuilder();
    api.listNamespacedConfigMap(namespace).labelSelector("by=" + name).execute().getItems()
        .forEach(one -> names.append(one.getMetadata().getName()));
    System.out.println("listed " + names);
    V1ConfigMap patched = PatchUtils.patch(V1ConfigMap.class,
        () -> api.patchNamespacedConfigMap(name, namespace, new V1Patch("{\"data\":{\"b\":\"2\"}}")).buildCall(null),
        V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, client);
    System.out.println("patched " + json(patched));
    System.out.println("stale " + code(() -> api.replaceNamespacedConfigMap(name, namespace, made).execute()));
    api.deleteNamespacedConfigMap(name, namespace).execute();
    System.out.println("absent " + code(() -> api.readNamespacedConfigMap(name, namespace).execute()));
    List<String> seen = new ArrayList<>();
    try (Watch<V1ConfigMap> watch = Watch.createWatch(client,
        api.listNamespacedConfigMap(namespace).labelSelector("by=" + name).resourceVersion(begin).watch(true).buildCall(null),
        new TypeToken<Watch.Response<V1ConfigMap>>() {}.getType())) {
      for (Watch.Response<V1ConfigMap> event : watch) {
        seen.add(event.type);
        if (event.type.equals("DELETED")) {
          break;
        }
      }
    }
    System.out.println("watched " + String.join(",", seen));
    System.exit(0); // threads of its connection pool would linger
  }
}
