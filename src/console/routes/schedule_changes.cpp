// SPDX-License-Identifier: Apache-2.0
#include "console/routes/schedule_changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "console/data/schedule_rows.hpp"
#include "console/routes/job_changes.hpp"
#include "kube/names/names.hpp"
#include "kube/text/cron.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/schedules/resume.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostScheduleName = 52;  // of a CronJob
constexpr std::size_t kMostJobName = 63;
constexpr std::string_view kServiceAccount = "fournos-dashboard-sa";
constexpr std::string_view kSubmitImage = "registry.access.redhat.com/ubi9/python-312";

// Reads FJOB_JSON, the resolver's values and the trigger, and posts the job.
constexpr std::string_view kSubmitScript = R"(import json, os, ssl, urllib.request
job = json.loads(os.environ["FJOB_JSON"])
trigger = os.environ.get("FOURNOS_TRIGGER_TYPE")
if trigger:
    job["metadata"]["labels"]["fournos-launcher/trigger-type"] = trigger
path = "/shared/resolved.env"
if os.path.exists(path):
    overrides = job["spec"]["executionEngine"]["forge"].setdefault("configOverrides", {})
    for line in open(path):
        line = line.strip()
        if line and not line.startswith("#") and "=" in line:
            key, value = line.split("=", 1)
            overrides[key.strip()] = value.strip()
account = "/var/run/secrets/kubernetes.io/serviceaccount/"
host = "https://%s:%s" % (os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
url = "%s/apis/fournos.dev/v1/namespaces/%s/fournosjobs" % (host, job["metadata"]["namespace"])
request = urllib.request.Request(url, json.dumps(job).encode(), {"Content-Type": "application/json",
    "Authorization": "Bearer " + open(account + "token").read().strip()})
context = ssl.create_default_context(cafile=account + "ca.crt")
print(urllib.request.urlopen(request, context=context).read().decode())
)";

std::string form_field(const FormFields& form, std::string_view name,
                       std::string_view fallback = {}) {
  const auto found = form.find(name);
  return found == form.end() || found->second.empty() ? std::string(fallback) : found->second;
}

std::string without_returns(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') {
      out += text[i];
    }
  }
  return out;
}

FormError wrong_field(std::string_view field, std::string_view message) {
  return {.error = Error::invalid(field, message), .field = std::string(field)};
}

// The job that the schedule submits.
Value scheduled_job(const FormFields& form, const std::string& ns, const Value& job) {
  const std::string project = form_field(form, "project");
  std::string prefix = fmt::format("forge-{}-sched-", project);
  std::ranges::replace(prefix, '_', '-');
  Value spec = job["spec"];
  spec.set("owner", form_field(form, "owner", "fournos-dashboard/scheduler"));
  spec.set("exclusive", true);
  Value labels = Value::object();
  labels.set(kScheduleName, form_field(form, "name"));
  labels.set("fournos-launcher/trigger-type", "scheduled");
  return Value::object({{"apiVersion", api::kFournosJob.api_version()},
                        {"kind", api::kFournosJob.name},
                        {"metadata", Value::object({{"generateName", prefix},
                                                    {"namespace", ns},
                                                    {"labels", std::move(labels)}})},
                        {"spec", std::move(spec)}});
}

Value shared_mount() {
  return Value::object({{"name", "shared"}, {"mountPath", "/shared"}});
}

// Adds the init container that computes values before each run.
void add_resolver(Value& pod, const FormFields& form) {
  const std::string file = form_field(form, "resolver_filename", "resolver.py");
  const std::string map = form_field(form, "name") + "-resolver";
  const std::string image = form_field(form, "resolver_image", kSubmitImage);
  const std::string interpreter = file.ends_with(".py") ? "python3" : "sh";
  const Value script_mount = Value::object({{"name", "resolver"}, {"mountPath", "/resolver"}});
  pod.set("initContainers", Value::list({Value::object(
                                {{"name", "resolver"},
                                 {"image", image},
                                 {"command", Value::list({interpreter, "/resolver/" + file})},
                                 {"volumeMounts", Value::list({script_mount, shared_mount()})}})}));
  pod.set("volumes",
          Value::list(
              {Value::object({{"name", "resolver"}, {"configMap", Value::object({{"name", map}})}}),
               Value::object({{"name", "shared"}, {"emptyDir", Value::object()}})}));
}

bool has_resolver(const FormFields& form) {
  return !form_field(form, "resolver_script").empty();
}

Value resolver_map(const FormFields& form, const std::string& ns) {
  Value labels = Value::object();
  labels.set(kManagedBy, kManager);
  labels.set("fournos-launcher/type", "resolver-script");
  Value data = Value::object();
  data.set(form_field(form, "resolver_filename", "resolver.py"),
           without_returns(form_field(form, "resolver_script")));
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", Value::object({{"name", form_field(form, "name") + "-resolver"},
                                   {"namespace", ns},
                                   {"labels", std::move(labels)}})},
       {"data", std::move(data)}});
}

// Creates the object, or replaces what is there.
Result<Object> put_object(Exchange& exchange, const Kind& kind, const Value& object) {
  constexpr int kConflictCode = 409;
  auto created = exchange.services.port.create(exchange.viewer(), kind, object);
  if (created.ok() || created.error().code != kConflictCode) {
    return created;
  }
  const Key key{object["metadata"]["namespace"].str(), object["metadata"]["name"].str()};
  ATHANOR_TRY(const Object known, exchange.services.port.get(exchange.viewer(), kind, key));
  if (known.label(kManagedBy) != kManager) {
    return created.error();
  }
  Value body = object;
  body.set_path({"metadata", "resourceVersion"}, known.resource_version());
  ATHANOR_TRY(Value written, exchange.services.port.call(exchange.viewer(),
                                                         {.method = "PUT",
                                                          .path = api_path(kind, key.ns, key.name),
                                                          .body = std::move(body)}));
  return Object(std::move(written));
}

// Returns a schedule's metadata: labels, and annotations with the fields from which the form is
// filled again.
Value schedule_metadata(const FormFields& form, const std::string& name, const std::string& ns) {
  Value labels = Value::object();
  labels.set(kManagedBy, kManager);
  labels.set("fournos-launcher/project", form_field(form, "project"));
  Value annotations = Value::object();
  const auto note = [&](std::string_view what, const std::string& text) {
    if (!text.empty()) {
      annotations.set(std::string(kLauncher) + std::string(what), text);
    }
  };
  note("project", form_field(form, "project"));
  note("cluster", form_field(form, "cluster"));
  note("pipeline", form_field(form, "pipeline", "forge-test-only"));
  note("preset", form_field(form, "preset"));
  note("owner", form_field(form, "owner", "fournos-dashboard/scheduler"));
  if (has_resolver(form)) {
    note("resolver-configmap", name + "-resolver");
    note("resolver-filename", form_field(form, "resolver_filename", "resolver.py"));
    note("resolver-image", form_field(form, "resolver_image"));
  }
  return Value::object({{"name", name},
                        {"namespace", ns},
                        {"labels", std::move(labels)},
                        {"annotations", std::move(annotations)}});
}

// Returns the pod that submits the job.
Value submitting_pod(const FormFields& form, const Value& job) {
  Value container = Value::object(
      {{"name", "submit"},
       {"image", form_field(form, "image_source", kSubmitImage)},
       {"command", Value::list({"python3", "-c", kSubmitScript})},
       {"env",
        Value::list({Value::object({{"name", "FJOB_JSON"}, {"value", json::print(job)}})})}});
  Value pod = Value::object({{"restartPolicy", "Never"}, {"serviceAccountName", kServiceAccount}});
  if (has_resolver(form)) {
    container.set("volumeMounts", Value::list({shared_mount()}));
    add_resolver(pod, form);
  }
  pod.set("containers", Value::list({std::move(container)}));
  return pod;
}

}  // namespace

Result<Object> find_schedule(Exchange& exchange, const std::string& name) {
  const Settings& settings = exchange.services.settings;
  auto found =
      exchange.services.port.get(exchange.viewer(), api::kCronJob, {settings.jobs_ns, name});
  if (found.ok() && !is_managed(*found)) {
    return Error::not_found("Schedule not found");
  }
  if (!found.ok() && found.error().code == 404) {
    return Error::not_found("Schedule not found");
  }
  return found;
}

Result<Value, FormError> schedule_of_form(const FormFields& form, const std::string& ns) {
  for (const char* required : {"name", "project", "cluster", "cron_expr"}) {
    if (form_field(form, required).empty()) {
      return wrong_field(required, "is required");
    }
  }
  const std::string name = form_field(form, "name");
  if (const auto wrong = validate_dns1123_subdomain(name);
      wrong || name.size() > kMostScheduleName || name.find('.') != std::string::npos) {
    return wrong_field(
        "name", fmt::format("must be a DNS label of at most {} characters", kMostScheduleName));
  }
  const auto cron = CronSchedule::parse(form_field(form, "cron_expr"));
  if (!cron.ok()) {
    return wrong_field("cron_expr", cron.error().message);
  }
  FormFields job_form = form;
  job_form.erase("owner");
  auto job = job_of_form(job_form, ns, Instant{});
  if (!job.ok()) {
    return FormError{.error = job.error()};
  }
  Value template_spec = Value::object(
      {{"spec",
        Value::object(
            {{"backoffLimit", 0},
             {"template",
              Value::object({{"spec", submitting_pod(form, scheduled_job(form, ns, *job))}})}})}});
  Value spec = Value::object({{"schedule", form_field(form, "cron_expr")},
                              {"suspend", false},
                              {"successfulJobsHistoryLimit", 3},
                              {"failedJobsHistoryLimit", 3},
                              {"jobTemplate", std::move(template_spec)}});
  if (const std::string zone = form_field(form, "timeZone"); !zone.empty()) {
    spec.set("timeZone", zone);
  }
  if (const std::string overlap = form_field(form, "overlap"); !overlap.empty()) {
    spec.set("concurrencyPolicy", overlap);
  }
  return Value::object({{"apiVersion", api::kCronJob.api_version()},
                        {"kind", api::kCronJob.name},
                        {"metadata", schedule_metadata(form, name, ns)},
                        {"spec", std::move(spec)}});
}

Result<std::string, FormError> save_schedule(Exchange& exchange, const FormFields& form) {
  const std::string ns = exchange.services.settings.jobs_ns;
  auto schedule = schedule_of_form(form, ns);
  if (!schedule.ok()) {
    return schedule.error();
  }
  const std::string name = form_field(form, "name");
  const std::string target = form_field(form, "edit_target");
  const auto failed = [&](const Error& error) {
    note_change(exchange, "save schedule", "CronJob/" + ns + "/" + name, &error);
    return FormError{.error = error};
  };
  if (!target.empty()) {
    const auto before = find_schedule(exchange, target);
    if (!before.ok()) {
      return failed(before.error());
    }
    schedule->set_path({"spec", "suspend"}, before->spec()["suspend"].as_bool());
    if (const auto until = before->annotation(fournos::kPausedUntil); !until.empty()) {
      schedule->set_path({"metadata", "annotations", fournos::kPausedUntil}, until);
    }
  } else if (find_schedule(exchange, name).ok()) {
    return FormError{.error = Error::conflict(fmt::format("schedule {} exists", name)),
                     .field = "name"};
  }
  if (has_resolver(form)) {
    const auto map = put_object(exchange, api::kConfigMap, resolver_map(form, ns));
    if (!map.ok()) {
      return failed(map.error());
    }
  }
  const auto written = put_object(exchange, api::kCronJob, *schedule);
  if (!written.ok()) {
    return failed(written.error());
  }
  note_change(exchange, "save schedule", "CronJob/" + ns + "/" + name, nullptr);
  if (!target.empty() && target != name) {
    const auto removed = delete_schedule(exchange, target);
    if (!removed.ok()) {
      return failed(removed.error());
    }
  }
  return name;
}

Result<std::string> suspend_schedule(Exchange& exchange, const std::string& name, Suspend how) {
  ATHANOR_TRY(const Object schedule, find_schedule(exchange, name));
  const bool suspend =
      how == Suspend::Toggle ? !schedule.spec()["suspend"].as_bool() : how == Suspend::Pause;
  Value patch = Value::object({{"spec", Value::object({{"suspend", suspend}})}});
  Value until;
  if (how == Suspend::Pause && !exchange.body["until"].is_null()) {
    const auto end = parse_time(exchange.body["until"].as_string());
    if (!end || *end <= exchange.now()) {
      return Error::bad_request("until must be a time to come, as 2026-01-31T08:00:00Z");
    }
    until = format_time(*end);
  }
  Value annotations = Value::object();
  annotations.set(fournos::kPausedUntil, until);
  patch.set("metadata", Value::object({{"annotations", std::move(annotations)}}));
  const auto patched =
      exchange.services.port.patch(exchange.viewer(), api::kCronJob, schedule.key(), patch);
  note_change(exchange, suspend ? "pause" : "resume", "CronJob/" + schedule.key().text(),
              patched.ok() ? nullptr : &patched.error());
  if (!patched.ok()) {
    return patched.error();
  }
  return fmt::format("{} is {}", name, suspend ? "paused" : "active");
}

Result<std::string> delete_schedule(Exchange& exchange, const std::string& name) {
  ATHANOR_TRY(const Object schedule, find_schedule(exchange, name));
  const Value options = Value::object(
      {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Foreground"}});
  const auto removed =
      exchange.services.port.remove(exchange.viewer(), api::kCronJob, schedule.key(), options);
  note_change(exchange, "delete", "CronJob/" + schedule.key().text(),
              removed.ok() ? nullptr : &removed.error());
  if (!removed.ok()) {
    return removed.error();
  }
  const std::string map(schedule.annotation("fournos-launcher/resolver-configmap"));
  if (!map.empty()) {
    const auto gone = exchange.services.port.remove(exchange.viewer(), api::kConfigMap,
                                                    {std::string(schedule.ns()), map});
    if (!gone.ok() && gone.error().code != 404) {
      return gone.error();
    }
  }
  return fmt::format("{} deleted", name);
}

Result<std::string> trigger_schedule(Exchange& exchange, const std::string& name) {
  ATHANOR_TRY(const Object schedule, find_schedule(exchange, name));
  std::string stamp = format_time(exchange.now());
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::ranges::replace(stamp, 'T', '-');
  std::string job_name = fmt::format("{}-manual-{}", name, stamp);
  job_name.resize(std::min(job_name.size(), kMostJobName));
  Value spec = schedule.spec()["jobTemplate"]["spec"];
  Value& containers = spec.member("template").member("spec").member("containers");
  for (std::size_t i = 0; i < containers.size(); ++i) {
    containers.item(i).member("env").push_back(
        Value::object({{"name", "FOURNOS_TRIGGER_TYPE"}, {"value", "manual"}}));
  }
  Value labels = Value::object();
  labels.set(kManagedBy, kManager);
  labels.set("fournos-launcher/triggered-by", "manual");
  Value annotations = Value::object();
  annotations.set("cronjob.kubernetes.io/instantiate", "manual");
  const auto created = exchange.services.port.create(
      exchange.viewer(), api::kJob,
      Value::object({{"apiVersion", api::kJob.api_version()},
                     {"kind", api::kJob.name},
                     {"metadata", Value::object({{"name", job_name},
                                                 {"namespace", schedule.ns()},
                                                 {"labels", std::move(labels)},
                                                 {"annotations", std::move(annotations)}})},
                     {"spec", std::move(spec)}}));
  note_change(exchange, "trigger", "CronJob/" + schedule.key().text(),
              created.ok() ? nullptr : &created.error());
  if (!created.ok()) {
    return created.error();
  }
  return job_name;
}

net::Response answer_form_page(Exchange& exchange, const std::string& message) {
  const auto index = exchange.services.files("index.html");
  if (!index) {
    return answer_text(message + "\n", "text/plain; charset=utf-8");
  }
  Value fields = Value::object();
  for (const auto& [name, value] : exchange.form) {
    if (name != "csrf") {
      fields.set(name, value);
    }
  }
  return answer_text(
      page_with_head(index->bytes(), {.base = exchange.services.settings.base_path + "/",
                                      .message = message,
                                      .form = json::print(fields)}),
      index->content_type);
}

}  // namespace athanor::console
