// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/image_entrypoints.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/time.hpp"

namespace athanor::data {
std::string_view generic_runner_entrypoint();  // examples/fournos/generic-runner/entrypoint
}  // namespace athanor::data

namespace athanor::nodes {
namespace {

// Where images of Fournos' engines have their program (docs/spec/fournos.md 19, engine contract).
constexpr std::string_view kEnginePath = "/opt/fournos/entrypoint";

enum class Entry : std::uint8_t {
  Options,  // `command` without arguments and in front of options; other arguments are the command
  Program,  // `command` in front of all arguments
  Runner,   // likewise; `command` runs the text of the generic runner
  Sleep,    // `command` in front of the length of time, which Go's programs write as "1m30s"
};

struct Known {
  std::string_view image{};  // last part of the name, or the last two
  Entry entry = Entry::Options;
  std::string_view command[2]{};
  std::int64_t user = 0;
  std::string_view first_argument{};  // with this one alone; empty: with any
};

constexpr Known kKnown[] = {
    {"alpine", Entry::Options, {"/bin/sh"}},
    {"almalinux", Entry::Options, {"/bin/bash"}},
    {"amazonlinux", Entry::Options, {"/bin/bash"}},
    {"bash", Entry::Options, {"bash"}},
    {"buildpack-deps", Entry::Options, {"bash"}},
    {"busybox", Entry::Options, {"/bin/sh"}},
    {"centos", Entry::Options, {"/bin/bash"}},
    {"debian", Entry::Options, {"bash"}},
    {"eclipse-temurin", Entry::Options, {"jshell"}},
    {"fedora", Entry::Options, {"/bin/bash"}},
    {"gcc", Entry::Options, {"bash"}},
    {"golang", Entry::Options, {"bash"}},
    {"gradle", Entry::Options, {"gradle"}},
    {"maven", Entry::Options, {"mvn"}},
    {"node", Entry::Options, {"node"}},
    {"openjdk", Entry::Options, {"jshell"}},
    {"perl", Entry::Options, {"perl", "-de0"}},
    {"php", Entry::Options, {"php"}},
    {"python", Entry::Options, {"python3"}},
    {"rockylinux", Entry::Options, {"/bin/bash"}},
    {"ruby", Entry::Options, {"irb"}},
    {"rust", Entry::Options, {"bash"}},
    {"ubi", Entry::Options, {"/bin/bash"}},
    {"ubi-minimal", Entry::Options, {"/bin/bash"}},
    {"ubi8", Entry::Options, {"/bin/bash"}},
    {"ubi8-minimal", Entry::Options, {"/bin/bash"}},
    {"ubi9", Entry::Options, {"/bin/bash"}},
    {"ubi9-minimal", Entry::Options, {"/bin/bash"}},
    {"ubuntu", Entry::Options, {"/bin/bash"}},
    // Images of Kueue's samples: agnhost prints its arguments.
    {"agnhost", Entry::Program, {"/bin/echo", "/agnhost"}, 0, "entrypoint-tester"},
    {"k8s-staging-perf-tests/sleep", Entry::Sleep, {"sleep"}},
    {"alpine/git", Entry::Program, {"git"}},
    {"alpine/helm", Entry::Program, {"helm"}},
    {"amazon/aws-cli", Entry::Program, {"aws"}},
    {"curlimages/curl", Entry::Options, {"curl"}, 100},
    {"jqlang/jq", Entry::Program, {"jq"}},
    // Its work is done by the node before it starts (docs/spec/fournos.md R17.2).
    {"fournos-mock-resolve", Entry::Options, {"/bin/echo", "[mock-resolve] the job is patched"}},
    {"fournos-generic-runner", Entry::Runner, {"/bin/sh", "-c"}},
    {"fournos-mock-generic-runner", Entry::Runner, {"/bin/sh", "-c"}},
    {"fournos-mock-generic-user", Entry::Options, {"env"}},
    // Likewise (docs/spec/dashboard.md B4.10).
    {"athanor", Entry::Program, {"/bin/echo", "[submit] by the node:"}, 0, "submit"},
    {"kubectl", Entry::Program, {"kubectl"}},
    {"mikefarah/yq", Entry::Program, {"yq"}, 1000},
};

// Without tag and digest.
std::string_view name_of(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return tagged ? image.substr(0, colon) : image;
}

std::string_view last_parts(std::string_view name, int count) {
  std::size_t start = name.size();
  while (count-- > 0 && start > 0 && start != std::string_view::npos) {
    start = name.rfind('/', start - 1);
  }
  return start == std::string_view::npos ? name : name.substr(start + (start > 0 ? 1 : 0));
}

const Known* known(std::string_view name, std::string_view first_argument) {
  const std::string_view last = last_parts(name, 1);
  const std::string_view two = last_parts(name, 2);
  for (const Known& one : kKnown) {
    if ((one.image == last || one.image == two) &&
        (one.first_argument.empty() || one.first_argument == first_argument)) {
      return &one;
    }
  }
  return nullptr;
}

Value with_arguments(Value command, const Value& args) {
  for (const Value& arg : args.items()) {
    command.push_back(arg);
  }
  return command;
}

Value entry_words(const Known& image) {
  Value command = Value::list();
  for (const std::string_view word : image.command) {
    if (!word.empty()) {
      command.push_back(word);
    }
  }
  if (image.entry == Entry::Runner) {
    command.push_back(data::generic_runner_entrypoint());
    command.push_back(kEnginePath);
  }
  return command;
}

// The programs of this machine take seconds; what is no length of time is theirs to refuse.
std::string in_seconds(std::string_view text) {
  const auto length = parse_go_duration(text);
  return length.ok() ? fmt::format("{}", std::chrono::duration<double>(*length).count())
                     : std::string(text);
}

// Sleeps for $1; on SIGTERM for the grace $2 only, then exits with $3. The script's name
// is "sleep", so that timed pods see what the command sleeps.
constexpr const char* kSleepScript =
    "trap 'kill $!; [ \"$2\" = 0 ] || sleep \"$2\"; exit \"$3\"' TERM; sleep \"$1\" & wait $!";

// The image's program has options of Go ("-termination-code=1" or "-termination-code 1"), which
// this machine's sleep does not know.
Value sleep_command(const Value& args) {
  std::string code;
  std::string grace;
  Value times = Value::list();
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i].as_string();
    if (!arg.starts_with("-")) {
      times.push_back(in_seconds(arg));
      continue;
    }
    arg.remove_prefix(arg.starts_with("--") ? 2 : 1);
    const std::size_t equals = arg.find('=');
    const std::string_view name = arg.substr(0, equals);
    const std::string value(equals != std::string_view::npos ? arg.substr(equals + 1)
                                                             : args[++i].as_string());
    if (name == "termination-code") {
      code = value;
    } else if (name == "termination-grace-period") {
      grace = in_seconds(value);
    }
  }
  if (code.empty() && grace.empty()) {
    return with_arguments(Value::list({"sleep"}), times);
  }
  return with_arguments(
      Value::list({"/bin/sh", "-c", kSleepScript, "sleep"}),
      Value::list({times[0].str(), grace.empty() ? "0" : grace, code.empty() ? "0" : code}));
}

}  // namespace

std::optional<Value> image_command(std::string_view image, const Value& args, const Value& own) {
  const std::string_view name = name_of(image);
  for (const std::string_view key : {name, last_parts(name, 1)}) {
    if (const Value* entrypoint = own.find(key); entrypoint != nullptr && entrypoint->is_list()) {
      return with_arguments(*entrypoint, args);
    }
  }
  const std::string_view last = last_parts(name, 1);
  if (last.starts_with("pause") || (last == "agnhost" && args[0].as_string() == "pause")) {
    return Value::list({"/bin/sleep", "infinity"});
  }
  const Known* found = known(name, args[0].as_string());
  if (found == nullptr) {
    return std::nullopt;
  }
  if (found->entry == Entry::Sleep) {
    return sleep_command(args);
  }
  const bool option = !args.empty() && args[0].as_string().starts_with("-");
  const bool in_front = found->entry != Entry::Options || args.empty() || option;
  return with_arguments(in_front ? entry_words(*found) : Value::list(), args);
}

std::optional<Value> engine_command(std::string_view image, const Value& command,
                                    const Value& args) {
  const Known* found = known(name_of(image), {});
  // Upstream's mock of the runner names its interpreter.
  const std::size_t at = command[0].as_string() == "python3" ? 1 : 0;
  const bool engine =
      found != nullptr && (found->entry == Entry::Runner || found->image == "fournos-mock-resolve");
  if (!engine || command.size() != at + 1 || command[at].as_string() != kEnginePath) {
    return std::nullopt;
  }
  return with_arguments(entry_words(*found), args);
}

std::optional<std::int64_t> image_user(std::string_view image) {
  const Known* one = known(name_of(image), {});
  return one == nullptr ? std::nullopt : std::optional(one->user);
}

std::vector<std::pair<std::string, std::string>> image_environment(std::string_view image) {
  const std::string_view name = last_parts(name_of(image), 1);
  if (name == "golang") {
    return {{"PATH",
             "/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
             "/sbin:/bin"},
            {"GOPATH", "/go"},
            {"GOTOOLCHAIN", "local"}};
  }
  if (name == "python") {
    return {{"LANG", "C.UTF-8"}};
  }
  if (name == "ruby") {
    return {{"LANG", "C.UTF-8"}};
  }
  if (name == "rust") {
    return {{"PATH",
             "/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
             "/bin"}};
  }
  return {};
}

bool has_busybox(std::string_view image) {
  const std::string_view name = last_parts(name_of(image), 1);
  return name == "alpine" || name == "busybox";
}

const Value& find_image(const Value& images, std::string_view image) {
  static const Value kNone;
  const std::string full = full_image_name(image);
  const std::string any = std::string(name_of(full));
  for (const Value& one : images.items()) {
    const std::string_view name = one["name"].as_string();
    if (name == full || (name_of(name) == name && full_image_name(name) == any + ":latest")) {
      return one;
    }
  }
  return kNone;
}

Value command_of_image(const Value& image, const Value& command, const Value& args) {
  if (!command.empty()) {
    return with_arguments(command, args);
  }
  const Value entry = image["entrypoint"].is_list() ? image["entrypoint"] : Value::list();
  return with_arguments(entry, args.empty() ? image["cmd"] : args);
}

std::string full_image_name(std::string_view image) {
  image = image.substr(0, image.find('@'));
  if (image.empty()) {
    return {};
  }
  const std::size_t last = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  const bool tagged =
      colon != std::string_view::npos && (last == std::string_view::npos || colon > last);
  const std::string_view first = image.substr(0, image.find('/'));
  const bool has_host =
      last != std::string_view::npos &&
      (first.find_first_of(".:") != std::string_view::npos || first == "localhost");
  const char* host = has_host                         ? ""
                     : last == std::string_view::npos ? "docker.io/library/"
                                                      : "docker.io/";
  return fmt::format("{}{}{}", host, image, tagged ? "" : ":latest");
}

}  // namespace athanor::nodes
