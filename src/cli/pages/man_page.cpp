// SPDX-License-Identifier: Apache-2.0
// man(7) macros. A page has no date: the same program makes the same pages.
#include "cli/pages/man_page.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/near_name.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

// Escapes what troff would take for its own: backslashes, dashes, and dots or quotes that begin a
// line.
std::string escaped(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string header(std::string_view name, std::string_view summary) {
  return fmt::format(".TH \"{}\" \"1\" \"\" \"athanor {}\" \"Athanor\"\n.SH NAME\n{} \\- {}\n",
                     name, ATHANOR_VERSION, escaped(name), escaped(summary));
}

void add_entries(std::string& page, const std::vector<FlagSummary>& entries) {
  for (const FlagSummary& entry : entries) {
    page += fmt::format(".TP\n\\fB{}\\fR", escaped(entry.shown));
    if (!entry.value.empty()) {
      page += fmt::format(" \\fI{}\\fR", escaped(entry.value));
    }
    page += fmt::format("\n{}\n", escaped(entry.help));
  }
}

// Unfilled paragraphs, for examples.
void add_literal(std::string& page, std::string_view text) {
  page += fmt::format(".nf\n{}\n.fi\n", escaped(text));
}

void add_verb(std::string& page, const VerbSummary& verb, const std::string& words) {
  page += fmt::format(".B {}\n", escaped(words));
  for (const FlagSummary& argument : verb.arguments) {
    page += fmt::format(".I {}\n", escaped(argument.shown));
  }
  page += "[\\fIflags\\fR]\n";
}

void add_plain_synopsis(std::string& page, const std::string& words, const VerbSummary& verb) {
  page += "  " + words;
  for (const FlagSummary& argument : verb.arguments) {
    page += fmt::format(" [{}]", argument.shown);
  }
  page += " [flags]\n";
}

void add_plain_entries(std::string& page, std::string_view title,
                       const std::vector<FlagSummary>& entries) {
  if (!title.empty() && !entries.empty()) {
    page += fmt::format("\n{}\n", title);
  }
  for (const FlagSummary& entry : entries) {
    page += fmt::format("  {}{}{}\n      {}\n", entry.shown, entry.value.empty() ? "" : " ",
                        entry.value, entry.help);
  }
}

}  // namespace

std::string program_page(const std::vector<VerbSummary>& verbs, std::string_view about) {
  std::string page = header("athanor", "shares scarce accelerators on Kubernetes");
  page += ".SH SYNOPSIS\n.B athanor\n.I verb\n[\\fIflags\\fR]\n.SH VERBS\n";
  for (const VerbSummary& verb : verbs) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(verb.name), escaped(verb.help));
  }
  page += ".SH CONNECTION AND EXIT STATUS\n";
  add_literal(page, about);
  page += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    page += fmt::format(".BR {} (1){}\n", escaped("athanor-" + verbs[i].name),
                        i + 1 == verbs.size() ? "" : ",");
  }
  return page;
}

std::string verb_page(const VerbSummary& verb) {
  std::string page = header("athanor-" + verb.name, verb.help);
  page += ".SH SYNOPSIS\n";
  add_verb(page, verb, "athanor " + verb.name);
  for (const VerbSummary& below : verb.verbs) {
    page += ".br\n";
    add_verb(page, below, "athanor " + verb.name + " " + below.name);
  }
  if (!verb.arguments.empty()) {
    page += ".SH ARGUMENTS\n";
    add_entries(page, verb.arguments);
  }
  if (!verb.flags.empty()) {
    page += ".SH OPTIONS\n";
    add_entries(page, verb.flags);
  }
  for (const VerbSummary& below : verb.verbs) {
    page += fmt::format(".SH \"{} {}\"\n{}\n", escaped(verb.name), escaped(below.name),
                        escaped(below.help));
    add_entries(page, below.arguments);
    add_entries(page, below.flags);
  }
  if (!verb.footer.empty()) {
    page += ".SH EXAMPLES AND NOTES\n";
    add_literal(page, verb.footer);
  }
  page += ".SH SEE ALSO\n.BR athanor (1)\n";
  return page;
}

std::string plain_page(const std::string& name, const VerbSummary& verb) {
  std::string page = fmt::format("NAME\n  {} - {}\n\nSYNOPSIS\n", name, verb.help);
  add_plain_synopsis(page, name, verb);
  for (const VerbSummary& below : verb.verbs) {
    add_plain_synopsis(page, name + " " + below.name, below);
  }
  add_plain_entries(page, "ARGUMENTS", verb.arguments);
  add_plain_entries(page, "OPTIONS", verb.flags);
  for (const VerbSummary& below : verb.verbs) {
    page += fmt::format("\n{} {}\n  {}\n", name, below.name, below.help);
    add_plain_entries(page, {}, below.arguments);
    add_plain_entries(page, {}, below.flags);
  }
  if (!verb.footer.empty()) {
    page += fmt::format("\nEXAMPLES AND NOTES\n{}\n", verb.footer);
  }
  return page;
}

namespace {

// Prints one page; the program's own without a name.
int print_page(const std::vector<VerbSummary>& verbs, const std::string& name) {
  const auto verb = std::ranges::find(verbs, name, &VerbSummary::name);
  if (verb != verbs.end()) {
    Terminal(STDOUT_FILENO).print(plain_page("athanor " + name, *verb));
    return 0;
  }
  VerbSummary program{.name = "athanor",
                      .help = "shares scarce accelerators on Kubernetes",
                      .footer = std::string(about_program())};
  for (const VerbSummary& one : verbs) {
    program.arguments.push_back({.name = one.name, .shown = one.name, .help = one.help});
  }
  Terminal(STDOUT_FILENO).print(plain_page("athanor", program));
  return 0;
}

}  // namespace

int run(const ManOptions& options) {
  const std::vector<VerbSummary> verbs = verb_summaries();
  const std::string& where = options.where;
  std::vector<std::string> known;
  known.reserve(verbs.size());
  for (const VerbSummary& verb : verbs) {
    known.push_back(verb.name);
  }
  if (where.empty() || std::ranges::find(known, where) != known.end()) {
    return print_page(verbs, where);
  }
  std::error_code unreadable;
  if (where.find('/') == std::string::npos && !std::filesystem::is_directory(where, unreadable)) {
    return fail(wrong_usage(fmt::format(
        "there is no verb \"{}\"{}, and no folder of that name; write ./{} for a new folder", where,
        near_hint(where, known), where)));
  }
  std::error_code failed;
  std::filesystem::create_directories(where, failed);
  if (failed) {
    return fail(
        Error::internal(fmt::format("cannot make the folder {}: {}", where, failed.message())));
  }
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream file(std::filesystem::path(where) / (name + ".1"), std::ios::binary);
    file << text << std::flush;
    return file.good();
  };
  bool good = write("athanor", program_page(verbs, about_program()));
  for (const VerbSummary& verb : verbs) {
    good = good && write("athanor-" + verb.name, verb_page(verb));
  }
  return good ? 0
              : fail(Error::internal(fmt::format("cannot write the manual pages into {}", where)));
}

}  // namespace athanor::cli
