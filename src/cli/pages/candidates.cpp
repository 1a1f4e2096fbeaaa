// SPDX-License-Identifier: Apache-2.0
#include "cli/pages/candidates.hpp"

#include <algorithm>
#include <utility>

#include "systems/numa/tools/tool.hpp"

namespace athanor::cli {
namespace {

// By flag, where its values are names of objects or files.
constexpr std::pair<std::string_view, NameSource> kFlagSources[] = {
    {"--namespace", NameSource::Namespaces},
    {"--install-namespace", NameSource::Namespaces},
    {"--clusters-namespace", NameSource::Namespaces},
    {"--context", NameSource::Contexts},
    {"--cluster", NameSource::Clusters},
    {"--gpu", NameSource::GpuTypes},
    {"--pipeline", NameSource::Pipelines},
    {"--priority", NameSource::Priorities},
    {"--explain", NameSource::Jobs},
    {"--pod", NameSource::Pods},
    {"--node", NameSource::Nodes},
    {"--queue", NameSource::Queues},
    {"--kubeconfig", NameSource::Files},
    {"--file", NameSource::Files},
    {"--data", NameSource::Files},
    {"--lab", NameSource::Files},
    {"--fleet", NameSource::Files},
    {"--what-if", NameSource::Files},
    {"--html", NameSource::Files},
    {"--copy", NameSource::Files},
    {"--from-files", NameSource::Files},
    {"--audit-policy-file", NameSource::Files},
    {"--audit-log-path", NameSource::Files},
    {"--encryption-provider-config", NameSource::Files},
    {"--config", NameSource::Files},
    {"--record", NameSource::Files},
    {"--slices", NameSource::Files},
};

// By verb, what its arguments name. `clusters` stands for the verbs below it, too.
constexpr std::pair<std::string_view, NameSource> kArgumentSources[] = {
    {"jobs", NameSource::Jobs},         {"logs", NameSource::Jobs},
    {"cancel", NameSource::Jobs},       {"rerun", NameSource::Jobs},
    {"results", NameSource::Jobs},      {"compare", NameSource::Jobs},
    {"wait", NameSource::Subjects},     {"describe", NameSource::Subjects},
    {"queue", NameSource::Queues},      {"queues", NameSource::Queues},
    {"clusters", NameSource::Clusters}, {"lock", NameSource::Clusters},
    {"unlock", NameSource::Clusters},   {"appwrappers", NameSource::AppWrappers},
    {"numa", NameSource::Nodes},        {"slices", NameSource::Nodes},
    {"backup", NameSource::Files},      {"restore", NameSource::Files},
    {"replay", NameSource::Files},      {"simulate", NameSource::Files},
    {"envtest", NameSource::Files},     {"schedules", NameSource::Schedules},
};

// Kinds in front of names, with where the names come from.
constexpr std::pair<std::string_view, NameSource> kSubjects[] = {
    {"jobs/", NameSource::Jobs},           {"clusters/", NameSource::Clusters},
    {"queues/", NameSource::Queues},       {"appwrappers/", NameSource::AppWrappers},
    {"slices/", NameSource::Nodes},        {"zones/", NameSource::Nodes},
    {"schedules/", NameSource::Schedules},
};

NameSource source_in(std::span<const std::pair<std::string_view, NameSource>> table,
                     std::string_view name) {
  const auto found =
      std::ranges::find(table, name, &std::pair<std::string_view, NameSource>::first);
  return found == table.end() ? NameSource::Nothing : found->second;
}

// One command line, read as far as it goes.
class Line {
 public:
  Line(const std::vector<VerbSummary>& verbs, std::span<const std::string> words)
      : verbs_(verbs), words_(words.first(words.empty() ? 0 : words.size() - 1)) {
    last_ = words.empty() ? "" : words.back();
  }

  Completion complete() {
    read();
    if (waiting_ != nullptr) {
      offer_values(*waiting_, "", last_);
    } else if (last_.starts_with('-') && last_.find('=') != std::string::npos) {
      const std::size_t equals = last_.find('=');
      if (const FlagSummary* flag = flag_of(last_.substr(0, equals))) {
        offer_values(*flag, last_.substr(0, equals + 1), last_.substr(equals + 1));
      }
    } else if (last_.starts_with('-')) {
      offer_flags();
    } else {
      offer_arguments();
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] const FlagSummary* flag_of(std::string_view name) const {
    const std::vector<FlagSummary>& flags = verb_ != nullptr ? verb_->flags : verbs_.front().flags;
    for (const FlagSummary& flag : flags) {
      const std::string names = "," + flag.shown + ",";
      if (flag.name == name || names.find("," + std::string(name) + ",") != std::string::npos) {
        return &flag;
      }
    }
    // Flags of the connection may stand before the verb.
    if (verb_ == nullptr) {
      const auto jobs = std::ranges::find(verbs_, "jobs", &VerbSummary::name);
      for (const FlagSummary& flag : jobs == verbs_.end() ? flags : jobs->flags) {
        const std::string names = "," + flag.shown + ",";
        if (names.find("," + std::string(name) + ",") != std::string::npos) {
          return &flag;
        }
      }
    }
    return nullptr;
  }

  void read() {
    for (const std::string& word : words_) {
      if (waiting_ != nullptr) {
        note(waiting_->name, word);
        waiting_ = nullptr;
      } else if (word.starts_with('-') && word.size() > 1) {
        const std::size_t equals = word.find('=');
        const FlagSummary* flag = flag_of(word.substr(0, equals));
        if (flag != nullptr && equals != std::string::npos) {
          note(flag->name, word.substr(equals + 1));
        } else if (flag != nullptr && !flag->value.empty()) {
          waiting_ = flag;
        }
      } else {
        enter(word);
      }
    }
  }

  void enter(const std::string& word) {
    const std::vector<VerbSummary>& below = verb_ == nullptr ? verbs_ : verb_->verbs;
    const auto found = std::ranges::find(below, word, &VerbSummary::name);
    if (found != below.end()) {
      top_ = verb_ == nullptr ? found->name : top_;
      verb_ = &*found;
    } else {
      ++arguments_;
    }
  }

  void note(std::string_view flag, const std::string& value) {
    Target& target = result_.target;
    for (const auto& [name, text] : {std::pair{"--kubeconfig", &target.kubeconfig},
                                     {"--context", &target.context},
                                     {"--namespace", &target.ns},
                                     {"--server", &target.server},
                                     {"--token", &target.token},
                                     {"--certificate-authority", &target.authority}}) {
      if (flag == name) {
        *text = value;
      }
    }
  }

  void offer(const std::string& word, const std::string& help) {
    if (word.starts_with(last_)) {
      result_.words.push_back({.word = word, .help = help});
    }
  }

  void name_from(NameSource source, std::string lead, std::string partial) {
    result_.source = source;
    result_.lead = std::move(lead);
    result_.partial = std::move(partial);
  }

  void offer_values(const FlagSummary& flag, const std::string& lead, const std::string& partial) {
    for (const std::string& choice : flag.choices) {
      offer(lead + choice, "");
    }
    if (flag.name == "--output") {
      for (const char* format : {"table", "wide", "json", "yaml", "name"}) {
        if (flag.help.find(format) != std::string::npos) {
          offer(lead + format, "");
        }
      }
      return;
    }
    const NameSource source = source_in(kFlagSources, flag.name);
    if (flag.choices.empty()) {
      name_from(source == NameSource::Nothing && flag.files ? NameSource::Files : source, lead,
                partial);
    }
  }

  void offer_flags() {
    if (verb_ == nullptr) {
      return;
    }
    for (const FlagSummary& flag : verb_->flags) {
      offer(flag.name, flag.help);
    }
    offer("--help", "Print the flags of this verb");
  }

  void offer_arguments() {
    for (const VerbSummary& below : verb_ == nullptr ? verbs_ : verb_->verbs) {
      offer(below.name, below.help);
    }
    if (verb_ == nullptr) {
      return;
    }
    if (verb_->name == "help" || verb_->name == "man") {
      for (const VerbSummary& verb : verbs_) {
        offer(verb.name, verb.help);
      }
      return;
    }
    if (top_ == "numa" && arguments_ == 0) {
      for (const char* action : {"explain", "fit", "exporter", "podresources"}) {
        offer(action, "");
      }
      for (const numa::Tool& tool : numa::numa_tools()) {
        offer(std::string(tool.name), "");
      }
    }
    for (const FlagSummary& argument : verb_->arguments) {
      for (const std::string& choice : argument.choices) {
        offer(choice, "");
      }
    }
    const NameSource source = source_in(kArgumentSources, top_);
    if (source != NameSource::Subjects) {
      return name_from(source, "", last_);
    }
    for (const auto& [kind, names] : kSubjects) {
      if (last_.starts_with(kind)) {
        return name_from(names, std::string(kind), last_.substr(kind.size()));
      }
      offer(std::string(kind), "");
    }
    name_from(NameSource::Jobs, "", last_);
  }

  const std::vector<VerbSummary>& verbs_;
  std::span<const std::string> words_;
  std::string last_{};
  const VerbSummary* verb_ = nullptr;
  std::string top_{};  // the first verb's name
  const FlagSummary* waiting_ = nullptr;
  int arguments_ = 0;
  Completion result_{};
};

}  // namespace

std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool begun = false;
  char quote = '\0';
  for (const char c : line) {
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      begun = true;
    } else if (c != ' ' && c != '\t') {
      word += c;
      begun = true;
    } else if (std::exchange(begun, false)) {
      words.push_back(std::exchange(word, {}));
    }
  }
  words.push_back(std::move(word));
  return words;
}

Completion complete_words(const std::vector<VerbSummary>& verbs,
                          std::span<const std::string> words) {
  return Line(verbs, words).complete();
}

}  // namespace athanor::cli
