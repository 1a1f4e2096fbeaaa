// SPDX-License-Identifier: Apache-2.0
// Shells that a host lacks.
#include "embedded/nodes/process/interpreters.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::interpreters_test {
namespace {

// Hosts by what they have.
std::string with_bash(std::string_view program) {
  return program == "bash" || program == "dash" || program == "ls" || program == "/bin/sh"
             ? "/bin/" + std::string(program.substr(program.rfind('/') + 1))
             : "";
}
std::string with_busybox(std::string_view program) {
  return program == "busybox" ? "/usr/bin/busybox" : with_bash(program);
}
std::string with_ash(std::string_view program) {
  return program == "/bin/ash" || program == "ash" ? "/bin/ash" : with_busybox(program);
}
std::string with_nothing(std::string_view) {
  return {};
}

std::string words(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& word : list) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

TEST(Interpreters, ScriptsOfAshAndBusyboxFindAShell) {
  EXPECT_EQ(words(script_interpreter("#!/bin/ash -e\necho", with_bash)), "/bin/bash -e");
  EXPECT_EQ(words(script_interpreter("#!/bin/ash\necho", with_busybox)), "/usr/bin/busybox ash");
  EXPECT_EQ(words(script_interpreter("#!/bin/ash\necho", with_ash)), "");
  EXPECT_EQ(words(script_interpreter("#!/usr/bin/env ash\n", with_bash)), "/bin/bash");
  EXPECT_EQ(words(script_interpreter("#!/usr/bin/env -S ash -eu\n", with_bash)), "/bin/bash -eu");
  EXPECT_EQ(words(script_interpreter("#!/bin/busybox sh\n", with_bash)), "/bin/bash");
  EXPECT_EQ(words(script_interpreter("#! /bin/busybox ash -x\n", with_bash)), "/bin/bash -x");
  EXPECT_EQ(words(script_interpreter("#!/bin/ash\n", with_nothing)), "");
}

TEST(Interpreters, OtherScriptsStayAsTheyAre) {
  for (const char* script :
       {"#!/bin/sh\necho", "#!/usr/bin/env python3\n", "#!/bin/zsh\n", "#!\n", "echo", ""}) {
    EXPECT_EQ(words(script_interpreter(script, with_bash)), "") << script;
  }
}

TEST(Interpreters, CommandsToo) {
  const auto command = [](const std::string& text) {
    return json::print(with_present_shell(yaml::parse(text).value(), with_bash));
  };
  EXPECT_EQ(command("[ash, -c, 'echo a b']"), R"(["/bin/bash","-c","echo a b"])");
  EXPECT_EQ(command("[/bin/busybox, sh, -c, x]"), R"(["/bin/bash","-c","x"])");
  EXPECT_EQ(command("[busybox, ls, -l]"), R"(["ls","-l"])");
  EXPECT_EQ(command("[no-such-program, -x]"), R"(["no-such-program","-x"])");
  EXPECT_EQ(command("[]"), "[]");
}

}  // namespace
}  // namespace athanor::nodes::interpreters_test
