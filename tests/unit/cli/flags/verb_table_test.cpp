// SPDX-License-Identifier: Apache-2.0
// Flags by verbs: what all lists take, what all verbs take that make jobs, and that a job's flags
// reach every field of its spec.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/describe.hpp"
#include "cli/flags/options.hpp"
#include "cli/flags/setting_flags.hpp"
#include "cli/jobs/job_builder.hpp"
#include "product/list.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli::verb_table_test {
namespace {

using Words = std::vector<std::string>;

Command parse_table_words(const Words& words) {
  std::vector<const char*> given{"athanor"};
  for (const std::string& word : words) {
    given.push_back(word.c_str());
  }
  return parse(static_cast<int>(given.size()), given.data());
}

std::string refusal_of(const Words& words) {
  const Command command = parse_table_words(words);
  const auto* message = std::get_if<Message>(&command);
  return message == nullptr ? "" : message->text;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const std::vector<Words>& lists() {
  static const std::vector<Words> kLists{
      {"jobs"},      {"queue"},  {"clusters"}, {"appwrappers"}, {"templates"},
      {"schedules"}, {"events"}, {"slices"},   {"numa"},        {"queues"}};
  return kLists;
}

// Help texts that begin with a word that refers to something else, or asks.
void find_riddles(const VerbSummary& verb, const std::string& path, Words& found) {
  static const std::set<std::string> kRiddles{
      "also",  "between", "how",   "in",    "it",    "its",  "of",    "on",      "others",
      "so",    "that",    "their", "these", "they",  "this", "those", "what",    "when",
      "where", "whether", "which", "who",   "whose", "why",  "with",  "without", "would"};
  const auto look = [&](const std::string& name, std::string text) {
    if (text.starts_with("with --")) {  // the condition comes first
      text = text.substr(std::min(text.find(": ") + 2, text.size()));
    }
    if (kRiddles.contains(text.substr(0, text.find_first_of(" ,:;")))) {
      found.push_back(path + " " + name + ": " + text);
    }
  };
  look("", verb.help);
  for (const FlagSummary& flag : verb.flags) {
    look(flag.name, flag.help);
  }
  for (const FlagSummary& argument : verb.arguments) {
    look(argument.name, argument.help);
  }
  for (const VerbSummary& below : verb.verbs) {
    find_riddles(below, path + " " + below.name, found);
  }
}

TEST(VerbTable, BeginsHelpTextsWithVerbOrNoun) {
  Words found;
  for (const VerbSummary& verb : verb_summaries()) {
    find_riddles(verb, verb.name, found);
  }
  std::string text;
  for (const std::string& one : found) {
    text += "\n  " + one;
  }
  EXPECT_TRUE(found.empty()) << text;
}

TEST(VerbTable, GivesListsSeveralNamesAndTimes) {
  for (const Words& list : lists()) {
    if (list.front() == "events") {
      continue;  // of one object
    }
    EXPECT_EQ(refusal_of(with(list, {"a", "b", "c", "d"})), "") << list.front();
  }
  for (const char* list : {"jobs", "queue", "clusters", "appwrappers", "schedules", "events",
                           "slices", "numa", "queues"}) {
    EXPECT_EQ(refusal_of({list, "--since", "1h"}), "") << list;
  }
  EXPECT_EQ(refusal_of({"queue", "a", "--since", "1h"}).find("athanor: "), 0U)
      << "of waiting workloads alone";
}

TEST(VerbTable, GivesListsTheSameFlags) {
  const std::vector<Words> flags{{"-l", "a=b"},
                                 {"--selector", "a in (b,c)"},
                                 {"--field-selector", "metadata.name=x"},
                                 {"--limit", "3"},
                                 {"--sort-by", "NAME"},
                                 {"--no-headers"},
                                 {"-w"},
                                 {"-o", "name"},
                                 {"-o", "wide"},
                                 {"-o", "json"},
                                 {"-o=yaml"},
                                 {"-o", "jsonpath={.items[*].metadata.name}"},
                                 {"-o=custom-columns=NAME:.metadata.name"},
                                 {"-o", "go-template={{.kind}}"},
                                 {"-n", "bench"},
                                 {"--context", "c"}};
  for (const Words& list : lists()) {
    for (const Words& flag : flags) {
      EXPECT_EQ(refusal_of(with(list, flag)), "") << list.front() << " " << flag.front();
    }
  }
}

TEST(VerbTable, RefusesWrongValuesInEveryList) {
  for (const Words& list : lists()) {
    for (const Words& flag : std::vector<Words>{
             {"--limit", "0"}, {"-o", "xml"}, {"-o", "jsonpath="}, {"--no-such-flag"}}) {
      EXPECT_NE(refusal_of(with(list, flag)), "") << list.front() << " " << flag.front();
    }
  }
}

const std::vector<Words>& makers() {
  static const std::vector<Words> kMakers{{"submit"},
                                          {"rerun", "old"},
                                          {"templates", "save", "t"},
                                          {"schedules", "create", "s", "--cron", "@daily"}};
  return kMakers;
}

const SubmitOptions* job_of(const Command& command) {
  if (const auto* submit = std::get_if<SubmitOptions>(&command)) {
    return submit;
  }
  if (const auto* saved = std::get_if<TemplateSaveOptions>(&command)) {
    return &saved->job;
  }
  const auto* schedule = std::get_if<ScheduleCreateOptions>(&command);
  return schedule == nullptr ? nullptr : &schedule->job;
}

// Fields that a person does not give: they stop a job, or are refused by Fournos.
const std::set<std::string, std::less<>>& fields_of_others() {
  static const std::set<std::string, std::less<>> kFields{"shutdown", "schedule"};
  return kFields;
}

TEST(VerbTable, ReachesEveryFieldOfAJob) {
  const Words flags{"--owner",
                    "ann",
                    "--display-name",
                    "d",
                    "--pipeline",
                    "p",
                    "--cluster",
                    "c",
                    "--gpu",
                    "a100:2",
                    "--project",
                    "llmd",
                    "--arg",
                    "cks",
                    "--config",
                    "a.b=1",
                    "--engine",
                    "{forge: {}}",
                    "--env",
                    "A=b",
                    "--secret-ref",
                    "s",
                    "--priority",
                    "high",
                    "--ttl",
                    "1h",
                    "--start-at",
                    "2026-01-31T08:00:00Z",
                    "--lock-only",
                    "--lock-until",
                    "2026-01-31T08:00:00Z",
                    "--exclusive",
                    "--clusterless",
                    "--label",
                    "a=b",
                    "--annotation",
                    "c=d"};
  const Value schema = api::crd_manifest(api::fournos_job_crd(api::FournosApi::Auto));
  const Value& properties = schema.at({"spec", "versions"})[0].at(
      {"schema", "openAPIV3Schema", "properties", "spec", "properties"});
  ASSERT_GT(properties.size(), 15U);
  for (const Words& maker : makers()) {
    const Command command = parse_table_words(with(maker, flags));
    const SubmitOptions* options = job_of(command);
    ASSERT_NE(options, nullptr) << maker.front() << refusal_of(with(maker, flags));
    Value job = Value::object({{"metadata", Value::object()}, {"spec", Value::object()}});
    ASSERT_TRUE(override_job(job, *options).ok());
    for (const Member& property : properties.members()) {
      EXPECT_TRUE(job["spec"].contains(property.key()) ||
                  fields_of_others().contains(property.key()))
          << maker.front() << " sets no spec." << property.key();
    }
    EXPECT_EQ(job["metadata"]["labels"]["a"].as_string(), "b");
    EXPECT_EQ(job["metadata"]["annotations"]["c"].as_string(), "d");
  }
}

TEST(VerbTable, TakesEveryFlagOfLogs) {
  const Command command =
      parse_table_words({"logs", "pipelinerun/x", "-f", "--task", "t", "-c", "step-a", "--failed",
                         "-p", "--tail", "5", "--since", "10m", "--timestamps", "--prefix"});
  const auto* logs = std::get_if<LogsOptions>(&command);
  ASSERT_NE(logs, nullptr);
  EXPECT_EQ(logs->words, Words{"pipelinerun/x"});
  EXPECT_TRUE(logs->follow && logs->failed && logs->previous && logs->timestamps && logs->prefix);
  EXPECT_EQ(logs->tail, 5);
  EXPECT_EQ(logs->container, "step-a");
  EXPECT_NE(refusal_of({"logs", "x", "--tail", "-1"}), "");
  EXPECT_NE(refusal_of({"logs", "x", "--prefix", "--no-prefix"}), "");
  EXPECT_NE(refusal_of({"logs"}), "");
}

// Help and the settings' names come from the one list of systems.
TEST(VerbTable, HelpOfControllersNamesEverySystem) {
  const std::string help = refusal_of({"controllers", "--help"});
  const std::size_t at = help.find("Systems: ");
  ASSERT_NE(at, std::string::npos) << help;
  std::set<std::string> listed;
  std::string word;
  for (const char letter : help.substr(at + 9, help.find("\n\n", at) - at - 9)) {
    if (letter == ' ' || letter == ',' || letter == '.' || letter == '\n') {
      listed.insert(std::exchange(word, {}));
    } else {
      word += letter;
    }
  }
  for (const System* system : all_systems()) {
    EXPECT_TRUE(listed.contains(std::string(system->name))) << system->name;
    EXPECT_NE(system_names().find(system->name), std::string::npos);
  }
}

}  // namespace
}  // namespace athanor::cli::verb_table_test
