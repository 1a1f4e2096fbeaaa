// SPDX-License-Identifier: Apache-2.0
// Flags of lists by verb: each is taken, or refused as wrong usage; none is ignored.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "cli/flags/options.hpp"

namespace athanor::cli::list_flags_test {
namespace {

Command parse_words(std::vector<std::string> words) {
  words.insert(words.begin(), "athanor");
  std::vector<const char*> given;
  for (const std::string& word : words) {
    given.push_back(word.c_str());
  }
  return parse(static_cast<int>(given.size()), given.data());
}

// The list options of whatever verb was chosen; nullptr: it was refused.
const ListOptions* list_of(const Command& command) {
  if (const auto* jobs = std::get_if<JobsOptions>(&command)) {
    return &jobs->list;
  }
  if (const auto* queue = std::get_if<QueueOptions>(&command)) {
    return &queue->list;
  }
  if (const auto* clusters = std::get_if<ClustersOptions>(&command)) {
    return &clusters->list;
  }
  if (const auto* apps = std::get_if<AppWrappersOptions>(&command)) {
    return &apps->list;
  }
  if (const auto* verb = std::get_if<SystemVerbOptions>(&command)) {
    return &verb->list;
  }
  return nullptr;
}

struct FlagCase {
  std::vector<std::string> words{};
  bool (*effect)(const ListOptions& list) = nullptr;
  std::string verbs{};  // that have the flag; empty: all
};

const std::vector<FlagCase>& flag_cases() {
  static const std::vector<FlagCase> kCases{
      {{"-l", "a=b"}, [](const ListOptions& l) { return l.labels == "a=b"; }, ""},
      {{"--selector=a=b"}, [](const ListOptions& l) { return l.labels == "a=b"; }, ""},
      {{"--field-selector", "metadata.name=x"},
       [](const ListOptions& l) { return l.fields == "metadata.name=x"; },
       ""},
      {{"--limit", "3"}, [](const ListOptions& l) { return l.limit == 3; }, ""},
      {{"--sort-by", "name"}, [](const ListOptions& l) { return l.sort_by == "name"; }, ""},
      {{"--no-headers"}, [](const ListOptions& l) { return l.no_headers; }, ""},
      {{"-w"}, [](const ListOptions& l) { return l.watch; }, ""},
      {{"--phase", "Failed,Running", "--phase", "Pending"},
       [](const ListOptions& l) { return l.phases.size() == 3; },
       " jobs queue clusters appwrappers "},
      {{"--owner", "ann"},
       [](const ListOptions& l) { return l.owners == std::vector<std::string>{"ann"}; },
       " jobs queue clusters appwrappers "},
      {{"--since", "2d"}, [](const ListOptions& l) { return l.since == "2d"; }, ""},
      {{"one", "two"},
       [](const ListOptions& l) { return l.names.size() == 2; },
       " jobs clusters appwrappers "}};
  return kCases;
}

TEST(ListFlags, AreTakenOrRefusedByEachVerb) {
  for (const std::string verb :
       {"jobs", "queue", "queues", "clusters", "appwrappers", "slices", "numa"}) {
    for (const FlagCase& one : flag_cases()) {
      if (one.words.front() == "--phase" && (verb == "queues" || verb == "slices")) {
        continue;  // TakePhasesInListsOfSystems
      }
      if (one.words.front() == "one" && !one.verbs.empty() && verb != "jobs" &&
          verb != "clusters" && verb != "appwrappers") {
        continue;  // names that VerbTable.GivesListsSeveralNamesAndTimes gives
      }
      SCOPED_TRACE(verb + " " + one.words.front());
      std::vector<std::string> words{verb};
      words.insert(words.end(), one.words.begin(), one.words.end());
      const Command command = parse_words(words);
      if (!one.verbs.empty() && one.verbs.find(" " + verb + " ") == std::string::npos) {
        const auto* refused = std::get_if<Message>(&command);
        ASSERT_NE(refused, nullptr);
        EXPECT_EQ(refused->exit_code, 2);
        continue;
      }
      const ListOptions* list = list_of(command);
      ASSERT_NE(list, nullptr);
      EXPECT_TRUE(one.effect(*list));
    }
  }
}

TEST(ListFlags, TakePhasesInListsOfSystems) {
  for (const std::string verb : {"queues", "slices"}) {
    const Command command = parse_words({verb, "--phase", "a,b,c"});
    const auto* options = std::get_if<SystemVerbOptions>(&command);
    ASSERT_NE(options, nullptr) << verb;
    EXPECT_EQ(options->flags.at("phase"), "a,b,c");
  }
}

TEST(ListFlags, TakeEveryFormatWithAndWithoutEquals) {
  const std::pair<const char*, Output> formats[] = {
      {"table", Output::Table},
      {"wide", Output::Wide},
      {"json", Output::Json},
      {"yaml", Output::Yaml},
      {"name", Output::Name},
      {"jsonpath={.items[*].metadata.name}", Output::JsonPath},
      {"custom-columns=N:.metadata.name", Output::CustomColumns},
      {"go-template={{.kind}}", Output::GoTemplate}};
  for (const std::string verb :
       {"jobs", "queue", "queues", "clusters", "appwrappers", "slices", "numa"}) {
    for (const auto& [text, output] : formats) {
      const std::vector<std::vector<std::string>> spellings{{"-o", text},
                                                            {std::string("-o=") + text},
                                                            {std::string("-o") + text},
                                                            {"--output", text},
                                                            {std::string("--output=") + text}};
      for (const std::vector<std::string>& words : spellings) {
        SCOPED_TRACE(verb + " " + words.front());
        std::vector<std::string> all{verb};
        all.insert(all.end(), words.begin(), words.end());
        const Command command = parse_words(all);
        const ListOptions* list = list_of(command);
        ASSERT_NE(list, nullptr);
        EXPECT_EQ(list->format.output, output);
      }
    }
  }
}

TEST(ListFlags, RefuseWrongValuesWithTheirPlace) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"jobs", "-o", "xml"}, "no format \"xml\": table, wide"},
      {{"jobs", "-o", "json={.a}"}, "no format"},
      {{"jobs", "-o", "jsonpath"}, "no format"},
      {{"jobs", "-o", "jsonpath={.a"}, "\"}\" is missing"},
      {{"jobs", "-o", "jsonpath={range .items[*]}"}, "{end} is missing"},
      {{"jobs", "-o", "custom-columns=NAME"}, "write TITLE:PATH"},
      {{"jobs", "-o", "go-template={{.a"}, "\"}}\" is missing"},
      {{"jobs", "-o", "go-template={{if .a}}x"}, "{{end}} is missing"},
      {{"jobs", "-o", "go-template={{lower .a}}"}, "function \"lower\" is not defined"},
      {{"jobs", "--limit", "0"}, "--limit"},
      {{"queue", "--explain", "j", "-w"}, "excludes"}};
  for (const auto& [words, says] : wrong) {
    SCOPED_TRACE(words.back());
    const Command command = parse_words(words);
    const auto* refused = std::get_if<Message>(&command);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->exit_code, 2);
    EXPECT_NE(refused->text.find(says), std::string::npos) << refused->text;
  }
}

}  // namespace
}  // namespace athanor::cli::list_flags_test
