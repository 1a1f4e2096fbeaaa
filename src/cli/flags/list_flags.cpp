// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/list_flags.hpp"

#include <vector>

#include "cli/output/formats.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {

void add_choice(flags::Verb& verb, NameChoice& choice, const std::string& names) {
  verb.add_option("names", choice.names, names);
  verb.add_option("-l,--selector", choice.labels,
                  "instead of names: all with these labels: a=b,c in (d,e),!f")
      ->type_name("LABELS");
  verb.verify([&choice]() -> Result<void> {
    if (choice.names.empty() == choice.labels.empty()) {
      return Error::bad_request(choice.names.empty() ? "give a name, or -l LABELS"
                                                     : "-l excludes names");
    }
    return {};
  });
}

void add_list_flags(flags::Verb& verb, ListOptions& options, const ListTraits& traits) {
  if (!traits.names.empty()) {
    verb.add_option("names", options.names, traits.names);
  }
  verb.add_option("-l,--selector", options.labels, "objects with these labels: a=b,c in (d,e),!f")
      ->type_name("LABELS");
  verb.add_option("--field-selector", options.fields,
                  "objects with these fields: status.phase=Failed,spec.owner!=ann")
      ->type_name("FIELDS");
  if (!traits.phases.empty()) {
    verb.add_option("--phase", options.phases, traits.phases + "; repeatable, or with commas")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("PHASE");
  }
  if (traits.owners) {
    verb.add_option("--owner", options.owners, "objects of this owner; repeatable, or with commas")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("OWNER");
  }
  if (traits.since) {
    verb.add_option("--since", options.since,
                    "objects created since: 90s, 1h30m, 2d ago, or a time (RFC 3339)")
        ->type_name("TIME");
  }
  verb.add_option("--limit", options.limit, "print at most this many")
      ->check(flags::in_range(1, 1'000'000'000))
      ->type_name("N");
  verb.add_option("--sort-by", options.sort_by, "column, or path such as .metadata.name")
      ->type_name("COLUMN");
  verb.add_flag("--no-headers", options.no_headers, "print no line of titles");
  verb.add_flag("-w,--watch", options.watch, traits.watch);
  std::vector<Output> formats = list_formats();
  formats.insert(formats.end(), traits.more.begin(), traits.more.end());
  const auto take = [&options, formats](const std::string& text) -> Result<void> {
    ATHANOR_TRY(options.format, parse_format(text, formats));
    return {};
  };
  verb.add_option_function("-o,--output", take, format_choice(formats))->type_name("FORMAT");
}

}  // namespace athanor::cli
