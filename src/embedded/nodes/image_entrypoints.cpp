// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/image_entrypoints.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace athanor::nodes {
namespace {

enum class Entry : std::uint8_t {
  Options,  // `command` without arguments and in front of options; other arguments are the command
  Program,  // `command` in front of all arguments
};

struct Known {
  std::string_view image{};  // last part of the name, or the last two
  Entry entry = Entry::Options;
  std::string_view command[2]{};
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
    {"alpine/git", Entry::Program, {"git"}},
    {"alpine/helm", Entry::Program, {"helm"}},
    {"amazon/aws-cli", Entry::Program, {"aws"}},
    {"curlimages/curl", Entry::Options, {"curl"}},
    {"jqlang/jq", Entry::Program, {"jq"}},
    // Its work is done by the node before it starts (docs/spec/fournos.md R17.2).
    {"fournos-mock-resolve", Entry::Options, {"/bin/echo", "[mock-resolve] the job is patched"}},
    {"kubectl", Entry::Program, {"kubectl"}},
    {"mikefarah/yq", Entry::Program, {"yq"}},
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

const Known* known(std::string_view name) {
  const std::string_view last = last_parts(name, 1);
  const std::string_view two = last_parts(name, 2);
  for (const Known& one : kKnown) {
    if (one.image == last || one.image == two) {
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

Value words_of(const Known& image) {
  Value command = Value::list();
  for (const std::string_view word : image.command) {
    if (!word.empty()) {
      command.push_back(word);
    }
  }
  return command;
}

}  // namespace

std::optional<Value> image_command(std::string_view image, const Value& args, const Value& own) {
  const std::string_view name = name_of(image);
  for (const std::string_view key : {name, last_parts(name, 1)}) {
    if (const Value* entrypoint = own.find(key); entrypoint != nullptr && entrypoint->is_list()) {
      return with_arguments(*entrypoint, args);
    }
  }
  if (last_parts(name, 1).starts_with("pause")) {
    return Value::list({"/bin/sleep", "infinity"});
  }
  const Known* found = known(name);
  if (found == nullptr) {
    return std::nullopt;
  }
  const bool option = !args.empty() && args[0].as_string().starts_with("-");
  const bool in_front = found->entry == Entry::Program || args.empty() || option;
  return with_arguments(in_front ? words_of(*found) : Value::list(), args);
}

}  // namespace athanor::nodes
