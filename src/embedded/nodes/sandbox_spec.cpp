// SPDX-License-Identifier: Apache-2.0
// Commands, environment and mounts of every container.
#include "embedded/nodes/sandbox_spec.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "base/time.hpp"
#include "embedded/nodes/image_entrypoints.hpp"
#include "embedded/nodes/pod_address.hpp"
#include "embedded/nodes/pod_machine.hpp"
#include "embedded/nodes/pod_names.hpp"
#include "embedded/nodes/resources/pod_resize.hpp"
#include "embedded/nodes/resources/resource_field.hpp"
#include "embedded/nodes/sandbox_probes.hpp"
#include "embedded/nodes/sandbox_security.hpp"
#include "embedded/nodes/sandbox_volumes.hpp"
#include "embedded/nodes/service_variables.hpp"
#include "embedded/nodes/steps/step_credentials.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::nodes {
namespace {

constexpr std::int64_t kSandboxGraceSeconds = 30;
// Loaded images are pushed; asked for only when nothing is known yet.
constexpr Duration kImagesAge = std::chrono::hours(24 * 365 * 100);

class EnvironmentBuilder {
 public:
  EnvironmentBuilder(const View& view, const Object& pod) : view_(view), pod_(pod) {}

  // The problem, or empty.
  std::string build(const Value& container) {
    for (const Value& source : container["envFrom"].items()) {
      if (std::string problem = add_source(source); !problem.empty()) {
        return problem;
      }
    }
    for (const Value& variable : container["env"].items()) {
      if (std::string problem = add_variable(variable, container); !problem.empty()) {
        return problem;
      }
    }
    return {};
  }
  // "$(NAME)" of variables set so far; "$$(NAME)" stays as "$(NAME)".
  [[nodiscard]] std::string expand(std::string_view text) const {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '$' || i + 1 == text.size()) {
        out += text[i];
        continue;
      }
      if (text[i + 1] == '$') {
        out += '$';
        ++i;
        continue;
      }
      const std::size_t close = text[i + 1] == '(' ? text.find(')', i) : std::string_view::npos;
      const auto known = close == std::string_view::npos
                             ? values_.end()
                             : values_.find(text.substr(i + 2, close - i - 2));
      if (known == values_.end()) {
        out += text[i];
        continue;
      }
      out += known->second;
      i = close;
    }
    return out;
  }
  [[nodiscard]] Value list() const {
    Value result = Value::list();
    for (const std::string& name : order_) {
      result.push_back(Value::list({name, values_.find(name)->second}));
    }
    return result;
  }
  void set(const std::string& name, std::string value) {
    if (values_.insert_or_assign(name, std::move(value)).second) {
      order_.push_back(name);
    }
  }

 private:
  std::string add_source(const Value& source) {
    const bool secret = source.contains("secretRef");
    const Value& ref = source[secret ? "secretRef" : "configMapRef"];
    const Kind& kind = secret ? api::kSecret : api::kConfigMap;
    const auto object = view_.get(kind, {std::string(pod_.ns()), ref["name"].str()});
    if (!object) {
      return ref["optional"].as_bool()
                 ? ""
                 : fmt::format("{} \"{}\" not found", secret ? "secret" : "configmap",
                               ref["name"].as_string());
    }
    for (const Member& entry : object->body()["data"].members()) {
      set(source["prefix"].str() + std::string(entry.key()), text_of(entry.value, secret));
    }
    return {};
  }

  std::string add_variable(const Value& variable, const Value& container) {
    const std::string name = variable["name"].str();
    const Value& from = variable["valueFrom"];
    if (from.is_null()) {
      set(name, expand(variable["value"].as_string()));
      return {};
    }
    if (from.contains("fieldRef")) {
      const auto field =
          pod_field(pod_, pod_address(view_, pod_), from["fieldRef"]["fieldPath"].as_string());
      set(name, field.value_or(""));
      return {};
    }
    if (from.contains("resourceFieldRef")) {
      const Value& reference = from["resourceFieldRef"];
      set(name,
          resource_field(view_, pod_, referenced_container(pod_, reference, container), reference));
      return {};
    }
    if (from.contains("fileKeyRef")) {
      return fmt::format("variable {}: fileKeyRef is not supported on emulated nodes", name);
    }
    const bool secret = from.contains("secretKeyRef");
    const Value& ref = from[secret ? "secretKeyRef" : "configMapKeyRef"];
    const auto object = view_.get(secret ? api::kSecret : api::kConfigMap,
                                  {std::string(pod_.ns()), ref["name"].str()});
    if (!object) {
      return ref["optional"].as_bool()
                 ? ""
                 : fmt::format("{} \"{}\" not found", secret ? "secret" : "configmap",
                               ref["name"].as_string());
    }
    const Value* value = object->body()["data"].find(ref["key"].as_string());
    if (value == nullptr) {
      return ref["optional"].as_bool()
                 ? ""
                 : fmt::format("couldn't find key {} in {} {}/{}", ref["key"].as_string(),
                               secret ? "Secret" : "ConfigMap", pod_.ns(), ref["name"].as_string());
    }
    set(name, text_of(*value, secret));
    return {};
  }

  static std::string text_of(const Value& value, bool base64) {
    return base64 ? base64_decode(value.as_string()).value_or("") : value.str();
  }

  const View& view_;
  const Object& pod_;
  std::map<std::string, std::string, std::less<>> values_{};
  std::vector<std::string> order_{};
};

// What is wrong with the mounts' paths below their volumes, as a kubelet says it; empty: nothing.
std::string path_problem(const Value& mounts) {
  for (const Value& mount : mounts.items()) {
    const std::string path = mount["subPath"].str();
    if (path.starts_with('/')) {
      return fmt::format("error SubPath `{}` must not be an absolute path", path);
    }
    if (("/" + path + "/").find("/../") != std::string::npos) {
      return fmt::format("unable to provision SubPath `{}`: must not contain '..'", path);
    }
  }
  return {};
}

Value mounts_of(const Value& container, const EnvironmentBuilder& environment) {
  Value mounts = Value::list();
  for (const Value& mount : container["volumeMounts"].items()) {
    const Value& expression = mount["subPathExpr"];
    mounts.push_back(Value::object(
        {{"volume", mount["name"]},
         {"path", mount["mountPath"]},
         {"subPath", expression.is_string() ? environment.expand(expression.as_string())
                                            : mount["subPath"].str()},
         {"readOnly", mount["readOnly"].as_bool()}}));
  }
  return mounts;
}

// A script takes the place of the command and gets the arguments; without either, the image's own
// entrypoint does. `problem`: what keeps a process from running it.
Value command_of(const View& view, const Value& container, const Value& step, const Value& loaded,
                 std::string& problem) {
  if (step.contains("script")) {
    return container["args"].is_list() ? container["args"] : Value::list();
  }
  if (loaded.is_object()) {
    Value command = command_of_image(loaded, container["command"], container["args"]);
    if (command.empty()) {
      problem = fmt::format("image \"{}\" has no command, and the container names none",
                            container["image"].as_string());
    }
    return command;
  }
  if (container["command"].empty()) {
    const std::string_view image = container["image"].as_string();
    const Value& own = view.config("tekton")["run"]["imageEntrypoints"];
    if (auto known = image_command(image, container["args"], own)) {
      return *std::move(known);
    }
    if (container["stdin"].as_bool()) {
      return Value::list({"/bin/sh"});  // a terminal is attached to type commands
    }
    problem = fmt::format(
        "image \"{}\" is not run here, and its entrypoint is not known: give the container a "
        "command, load the image with athanor images, name its entrypoint in the lab file, or let "
        "the pod only take time: annotation {} on it, or the lab started with --pods timed",
        image, kSimulateAnnotation);
    return Value::list();
  }
  if (auto engine =
          engine_command(container["image"].as_string(), container["command"], container["args"])) {
    return *std::move(engine);
  }
  Value command = container["command"];
  for (const Value& arg : container["args"].items()) {
    command.push_back(arg);
  }
  return command;
}

// Probes, hooks, when it is started again, and whose processes it sees.
void add_life(const Value& container, std::string_view address, const WordExpansion& expand,
              Value& result) {
  if (Value probes = sandbox_probes(container, address, expand); !probes.empty()) {
    result.set("probes", std::move(probes));
  }
  for (const HookKind kind : {HookKind::PostStart, HookKind::PreStop}) {
    const Value& handler = container["lifecycle"][hook_member(kind)];
    if (Value hook = sandbox_hook(container, handler, address, expand); !hook.is_null()) {
      result.set(hook_member(kind), std::move(hook));
    }
  }
  if (const std::string target = container["targetContainerName"].str(); !target.empty()) {
    result.set("target", target);
  }
  if (const Value& policy = container["restartPolicy"]; policy.is_string()) {
    result.set("ownRestartPolicy", policy);
  }
  if (const Value& rules = container["restartPolicyRules"]; !rules.empty()) {
    result.set("restartRules", rules);
  }
}

// Returns the images that the lab file names and those that were loaded.
Value known_images(const View& view) {
  const Value& settings = view.config("kubelet");
  Value images = Value::list();
  if (settings["loadsImages"].as_bool()) {
    const Observed loaded = view.observe(kImagesQuery, kImagesAge);
    if (loaded.value) {
      images = (*loaded.value)["items"].is_list() ? (*loaded.value)["items"] : images;
    }
  }
  for (const Value& image : settings["images"].items()) {
    images.push_back(image);
  }
  return images;
}

// Sets the variables that the image has.
void add_image_environment(const Value& container, const Value& loaded,
                           EnvironmentBuilder& environment) {
  if (!loaded.is_object()) {
    for (auto& [name, value] : image_environment(container["image"].as_string())) {
      environment.set(name, std::move(value));
    }
    return;
  }
  for (const Value& variable : loaded["env"].items()) {
    const std::string_view text = variable.as_string();
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      environment.set(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
    }
  }
}

// Returns true if the image is neither loaded nor one of the known ones.
bool is_unknown(const View& view, const Value& container, const Value& loaded) {
  const std::string_view image = container["image"].as_string();
  return !loaded.is_object() && !image.empty() &&
         !image_command(image, container["args"], view.config("tekton")["run"]["imageEntrypoints"]);
}

// Adds what the image says of its files, user and folder.
void add_image(const Value& container, const Value& loaded, Value& result, Value& security) {
  if (!loaded.is_object()) {
    if (has_busybox(container["image"].as_string())) {
      result.set("busybox", true);
    }
    return;
  }
  if (const std::string id = loaded["id"].str(); !id.empty()) {
    result.set("image", id);
  }
  if (loaded["seconds"].is_number()) {
    result.set("seconds", loaded["seconds"]);
  }
  if (result["workingDir"].as_string().empty()) {
    result.set("workingDir", loaded["workingDir"].str());
  }
  for (const char* member : {"user", "group"}) {
    if (loaded[member].is_integer() && !security["user"].is_integer()) {
      security.set(member, loaded[member]);
    }
  }
}

// One container; `step` is its entry of the steps annotation, Null without one.
std::string add_container(const View& view, const Object& pod, const Value& container,
                          const Value& step, const Value& images, Value& list) {
  if (container["securityContext"]["privileged"].as_bool()) {
    return "privileged containers are not run on emulated nodes";
  }
  const Value& settings = view.config("kubelet");
  const Value& loaded = find_image(images, container["image"].as_string());
  SandboxSecurity security = sandbox_security(pod, container, loaded, lab_user(view));
  if (!security.refusal.empty()) {
    return security.refusal;
  }
  EnvironmentBuilder environment(view, pod);
  add_image_environment(container, loaded, environment);
  for (auto& [name, value] : service_variables(view, pod)) {
    environment.set(name, std::move(value));
  }
  for (const Member& variable : settings["environment"].members()) {
    environment.set(std::string(variable.key()), variable.value.str());
  }
  if (std::string missing = environment.build(container); !missing.empty()) {
    return missing;
  }
  std::string problem;
  Value command = command_of(view, container, step, loaded, problem);
  for (std::size_t i = 0; i < command.size(); ++i) {
    command.item(i) = environment.expand(command[i].as_string());
  }
  Value mounts = mounts_of(container, environment);
  if (std::string wrong = path_problem(mounts); !wrong.empty()) {
    return wrong;
  }
  Value result = Value::object({{"name", container["name"]},
                                {"command", command},
                                {"env", environment.list()},
                                {"workingDir", container["workingDir"].str()},
                                {"mounts", std::move(mounts)},
                                {"messagePath", container["terminationMessagePath"].str()}});
  add_image(container, loaded, result, security.value);
  result.set("security", std::move(security.value));
  result.set("readOnlyRoot", container["securityContext"]["readOnlyRootFilesystem"].as_bool());
  add_life(
      container, pod_address(view, pod),
      [&](std::string_view word) { return environment.expand(word); }, result);
  if (container["terminationMessagePolicy"].as_string() == "FallbackToLogsOnError") {
    result.set("logsOnError", true);
  }
  if (!problem.empty()) {
    result.set("problem", problem);
  }
  if (is_unknown(view, container, loaded)) {
    result.set("unknownImage", container["image"]);
  }
  for (const char* key : {"stdin", "stdinOnce", "tty"}) {
    if (container[key].as_bool()) {
      result.set(key, true);
    }
  }
  for (const char* key : {"script", "results", "stepResults", "onError", "when", "stdout", "stderr",
                          "sidecar", "restartPolicy", "artifacts"}) {
    if (step.contains(key)) {
      result.set(key, step[key]);
    }
  }
  if (const auto timeout = parse_go_duration(step["timeout"].as_string());
      timeout.ok() && timeout->count() > 0) {
    result.set("timeoutMs",
               std::chrono::duration_cast<std::chrono::milliseconds>(*timeout).count());
  }
  list.push_back(std::move(result));
  return {};
}

// Init containers with restartPolicy Always go on beside the others.
void mark_natives(Value& init) {
  for (std::size_t i = 0; i < init.size(); ++i) {
    if (init[i]["ownRestartPolicy"].as_string() == "Always") {
      init.item(i).set("native", true);
    }
  }
}

// Returns the spec for the `timed` runtime (docs/spec/tekton.md section 12); Null without a valid
// annotation.
Value simulation_of(const Object& pod) {
  const auto parsed = json::parse(pod.annotation(kSimulateAnnotation));
  return parsed.ok() && parsed->is_object() ? *parsed : Value();
}

Value step_of(const Value& steps, std::string_view container) {
  for (const Value& step : steps.items()) {
    if (step["container"].as_string() == container) {
      return step;
    }
  }
  return {};
}

// The pod with containers that wait and volumes that are empty: its author does the work.
Object idle(const Object& pod) {
  Value body = pod.body();
  Value& spec = body.member("spec");
  for (const char* list : {"initContainers", "containers"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      Value& container = spec.member(list).item(i);
      container.set("command", Value::list({"/bin/sleep", "infinity"}));
      for (const char* member : {"args", "env", "envFrom", "volumeMounts"}) {
        container.erase(member);
      }
    }
  }
  spec.erase("volumes");
  return Object(std::move(body));
}

}  // namespace

Value container_limits(const Object& pod) {
  Value limits = Value::object();
  const auto add = [&](std::string_view name, const Value& owner) {
    const Value& given = owner["resources"]["limits"];
    Value own = Value::object();
    if (const auto memory = Quantity::parse(given["memory"]); memory && !memory->is_zero()) {
      own.set("memory", memory->value());
    }
    if (const auto cpu = Quantity::parse(given["cpu"]); cpu && !cpu->is_zero()) {
      own.set("cpu", cpu->milli_value());
    }
    if (!own.empty()) {
      limits.set(name, std::move(own));
    }
  };
  for (const char* list : {"initContainers", "containers"}) {
    for (const Value& container : pod.spec()[list].items()) {
      add(container["name"].as_string(), container);
    }
  }
  add(kWholePod, pod.spec());
  return limits;
}

SandboxSpec make_sandbox_spec(const View& view, const Object& original) {
  const Object pod = original.annotation(kEmulateAnnotation) == "pause" ? idle(original) : original;
  SandboxSpec spec;
  std::vector<std::string> problems;
  Value volumes = sandbox_volumes(view, pod, problems);
  if (!problems.empty()) {
    spec.waiting_reason = "ContainerCreating";
    spec.waiting_message = problems.front();
    return spec;
  }
  const auto parsed = json::parse(pod.annotation(kStepsAnnotation));
  const Value steps = parsed.ok() ? *parsed : Value();
  const Value images = known_images(view);
  Value init = Value::list();
  Value containers = Value::list();
  Value ephemeral = Value::list();
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Value& container : pod.spec()[list].items()) {
      Value& target = list == std::string_view("containers")       ? containers
                      : list == std::string_view("initContainers") ? init
                                                                   : ephemeral;
      Value step = step_of(steps, container["name"].as_string());
      if (step.is_null() && steps.is_list() && &target == &containers) {
        // A webhook added it: it runs beside the steps.
        step = Value::object({{"sidecar", true}});
      }
      if (std::string problem = add_container(view, pod, container, step, images, target);
          !problem.empty()) {
        spec.waiting_reason = "CreateContainerConfigError";
        spec.waiting_message = std::move(problem);
        spec.failing_container = container["name"].str();
        return spec;
      }
    }
  }
  mark_natives(init);
  spec.value = Value::object(
      {{"uid", pod.uid()},
       {"ns", pod.ns()},
       {"name", pod.name()},
       {"hostname", pod_hostname(pod)},
       {"hosts", hosts_file(pod, pod_address(view, pod))},
       {"resolver", resolver_file(pod, view.config("kubelet"))},
       {"network", Value::object({{"ip", pod_address(view, pod)},
                                  {"host", pod.spec()["hostNetwork"].as_bool()}})},
       {"task", pod.label(kPipelineTaskLabel)},
       {"restartPolicy", pod.spec()["restartPolicy"].str()},
       {"grace", pod.spec()["terminationGracePeriodSeconds"].as_int(kSandboxGraceSeconds)},
       {"sequential", steps.is_list()},
       {"init", init},
       {"containers", containers},
       {"volumes", volumes}});
  if (Value simulation = simulation_of(pod); simulation.is_object()) {
    spec.value.set("simulate", std::move(simulation));
  }
  if (Value credentials = step_credentials(view, pod); steps.is_list() && !credentials.empty()) {
    spec.value.set("credentials", std::move(credentials));
  }
  if (const std::string digest = volumes_digest(volumes); !digest.empty()) {
    spec.value.set("volumesDigest", digest);
  }
  if (const Value& group = pod.spec()["securityContext"]["fsGroup"]; group.is_integer()) {
    spec.value.set("fsGroup", group);
  }
  if (!ephemeral.empty()) {
    spec.value.set("ephemeral", std::move(ephemeral));
  }
  const Object granted = granted_pod(pod);
  spec.value.set("limits", container_limits(granted));
  spec.value.set("resources", pod_resources(granted));
  return spec;
}

}  // namespace athanor::nodes
