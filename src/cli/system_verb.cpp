// SPDX-License-Identifier: Apache-2.0
// Verbs that systems bring, over HTTPS to the API server of the kubeconfig.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/session.hpp"
#include "cli/session/verbs.hpp"
#include "runtime/view/phase_flag.hpp"
#include "runtime/view/usage.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

std::string_view format_of(Output output) {
  switch (output) {
    case Output::Table:
      return "table";
    case Output::Wide:
      return "wide";
    case Output::Yaml:
      return "yaml";
    case Output::Name:
      return "name";
    case Output::Json:
    case Output::JsonPath:
    case Output::CustomColumns:
    case Output::GoTemplate:
    case Output::Trace:
    case Output::Fleet:
      break;
  }
  return "json";
}

std::optional<std::string> found_in(const std::map<std::string, std::string, std::less<>>& given,
                                    std::string_view name) {
  const auto found = given.find(name);
  return found == given.end() ? std::nullopt : std::optional(found->second);
}

// Returns true where the first argument is an action of a list's verb.
bool acts(const SystemVerbOptions& options) {
  const Verb& verb = *options.verb;
  const auto first = verb.arguments.empty()
                         ? std::nullopt
                         : found_in(options.arguments, verb.arguments.front().name);
  return first && std::ranges::find(verb.actions, std::string_view(*first)) != verb.actions.end();
}

class ClusterContext final : public VerbContext {
 public:
  ClusterContext(Session session, const SystemVerbOptions& options, ListFilter filter)
      : session_(std::move(session)),
        options_(options),
        filter_(std::move(filter)),
        ns_(options.all_namespaces ? "" : session_.ns()),
        clock_(wall_clock()) {}

  [[nodiscard]] std::optional<std::string> flag(std::string_view name) const override {
    return found_in(options_.flags, name);
  }
  [[nodiscard]] std::optional<std::string> argument(std::string_view name) const override {
    return found_in(options_.arguments, name);
  }
  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    if (options_.verb->names.empty() || acts(options_)) {
      return names;
    }
    for (const VerbArgument& argument : options_.verb->arguments) {
      if (auto given = found_in(options_.arguments, argument.name)) {
        names.push_back(*std::move(given));
      }
    }
    names.insert(names.end(), options_.more_names.begin(), options_.more_names.end());
    return names;
  }
  [[nodiscard]] const std::string& ns() const override { return ns_; }
  [[nodiscard]] std::string_view output() const override {
    return format_of(options_.list.format.output);
  }
  [[nodiscard]] Instant now() const override { return clock_->now(); }

  Result<Object> get(const Kind& kind, const Key& key) override {
    return session_.get(kind, key.ns, key.name);
  }
  Result<std::vector<Object>> list(const Kind& kind, const std::string& ns) override {
    return session_.list(kind, ns);
  }
  Result<std::vector<Object>> list_labelled(const Kind& kind, const std::string& ns,
                                            const std::string& selector) override {
    return session_.list(kind, ns, selector);
  }
  Result<Object> create(const Kind& kind, const Value& object) override {
    const std::string ns = object["metadata"]["namespace"].str();
    return written({.method = "POST", .path = Session::path(kind, ns), .body = object});
  }
  Result<Object> patch(const Kind& kind, const Key& key, const Value& merge,
                       std::string_view subresource) override {
    std::string path = Session::path(kind, key.ns, key.name);
    if (!subresource.empty()) {
      path += "/" + std::string(subresource);
    }
    return written({.method = "PATCH",
                    .path = std::move(path),
                    .body = merge,
                    .content_type = "application/merge-patch+json"});
  }
  Result<void> remove(const Kind& kind, const Key& key) override {
    const auto answer = session_.connection().call(
        {.method = "DELETE", .path = Session::path(kind, key.ns, key.name)});
    return answer.ok() ? Result<void>() : answer.error();
  }

  Result<Value> post(const Kind& kind, const Key& key, std::string_view subresource,
                     const Value& body) override {
    return session_.connection().call(
        {.method = "POST",
         .path = Session::path(kind, key.ns, key.name) + "/" + std::string(subresource),
         .body = body});
  }
  void wait(Duration time) override { std::this_thread::sleep_for(time); }

  [[nodiscard]] bool filtered() const override {
    return is_filtered(options_.list) || options_.flags.contains(kPhaseFlag);
  }
  [[nodiscard]] bool selects(const Object& object) const override {
    return filter_.takes(object, {});
  }

  void print(std::string_view text) override {
    if (at_once_) {
      out_.print(text);
    } else {
      text_ += text;
    }
  }
  void table(const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows) override {
    std::vector<SortRow> keys;
    keys.reserve(rows.size());
    for (const std::vector<std::string>& row : rows) {
      keys.push_back({.object = nullptr, .cells = &row});
    }
    const auto order = arranged(header, keys);
    if (!order.ok()) {
      error_ = order.error();
      return;
    }
    views::Table table(header);
    for (const std::size_t index : *order) {
      table.add(rows[index]);
    }
    const bool wide = options_.list.format.output == Output::Wide;
    print(
        table.text({.columns = wide ? 0 : out_.columns(), .no_headers = options_.list.no_headers}));
  }
  void values(const std::vector<Value>& items) override {
    std::vector<SortRow> keys;
    keys.reserve(items.size());
    for (const Value& item : items) {
      keys.push_back({.object = &item, .cells = nullptr});
    }
    const auto order = arranged({}, keys);
    if (!order.ok()) {
      error_ = order.error();
      return;
    }
    std::vector<Value> sorted;
    sorted.reserve(order->size());
    for (const std::size_t index : *order) {
      sorted.push_back(items[index]);
      hide_managed_fields(sorted.back());
    }
    // Other lists print the object itself for one name, too.
    const Shape shape = options_.verb->lists && !acts(options_) && names().size() != 1
                            ? Shape::List
                            : Shape::Single;
    const auto text = render_values(sorted, options_.list.format, shape, options_.list.no_headers);
    if (text.ok()) {
      print(*text);
    } else {
      error_ = text.error();
    }
  }

  void print_at_once() { at_once_ = true; }
  [[nodiscard]] const std::string& printed() const { return text_; }
  // Errors: a format or an order that does not fit what was printed.
  [[nodiscard]] Result<void> check() const {
    return error_ ? Result<void>(*error_) : Result<void>();
  }

  // The text of the list since the last call. Errors: flags that the text could not follow.
  Result<std::string> take_text() {
    if (error_) {
      return *error_;
    }
    const ListOptions& list = options_.list;
    if (!arranged_ && (list.limit > 0 || !list.sort_by.empty() || list.no_headers)) {
      return wrong_usage(fmt::format("{} needs rows: -o wide", list.limit > 0    ? "--limit"
                                                               : list.no_headers ? "--no-headers"
                                                                                 : "--sort-by"));
    }
    return std::exchange(text_, {});
  }

 private:
  Result<std::vector<std::size_t>> arranged(const std::vector<std::string>& titles,
                                            const std::vector<SortRow>& rows) {
    arranged_ = true;
    ATHANOR_TRY(std::vector<std::size_t> order, sorted_rows(options_.list.sort_by, titles, rows));
    const auto limit = static_cast<std::size_t>(options_.list.limit);
    if (limit > 0 && order.size() > limit) {
      order.resize(limit);
    }
    return order;
  }

  Result<Object> written(const client::Call& call) {
    auto answer = session_.connection().call(call);
    if (!answer.ok()) {
      return answer.error();
    }
    return Object(*std::move(answer));
  }

  Session session_;
  const SystemVerbOptions& options_;
  ListFilter filter_;
  std::string ns_;
  std::unique_ptr<Clock> clock_;
  Terminal out_{STDOUT_FILENO};
  std::string text_{};  // of a list
  bool at_once_ = false;
  bool arranged_ = false;
  std::optional<Error> error_{};
};

constexpr Duration kLook = std::chrono::seconds(2);  // between two of a list that is watched

bool has_list_flags(const ListOptions& list) {
  return is_filtered(list) || list.watch || list.no_headers || list.limit > 0 ||
         !list.sort_by.empty();
}

// Runs a verb once; what it prints goes out at once.
Result<int> run_action(ClusterContext& context, const SystemVerbOptions& options) {
  context.print_at_once();
  ATHANOR_TRY(const int code, options.verb->run(context));
  ATHANOR_TRY_VOID(context.check());
  return code;
}

// Runs a verb that prints a list: once, or whenever its text changes until Ctrl-C.
Result<int> run_list(ClusterContext& context, const SystemVerbOptions& options) {
  const Terminal out(STDOUT_FILENO);
  const Interrupt interrupt;
  std::string last;
  while (true) {
    Result<int> code = options.verb->run(context);
    if (!code.ok()) {
      out.print(context.printed());  // of the names that were found
      return code;
    }
    ATHANOR_TRY(const std::string text, context.take_text());
    if (text != last) {
      out.print(last.empty() ? text : "\n" + text);
      last = text;
    }
    if (!options.list.watch) {
      return code;
    }
    for (Duration waited{}; waited < kLook; waited += std::chrono::milliseconds(100)) {
      if (interrupt.came()) {
        return kInterrupted;
      }
      context.wait(std::chrono::milliseconds(100));
    }
  }
}

Result<int> run_verb(Session session, const SystemVerbOptions& options) {
  const Verb& verb = *options.verb;
  const bool action = acts(options);
  if (action && (has_list_flags(options.list) || options.flags.contains(kPhaseFlag))) {
    return wrong_usage(
        fmt::format("{} {} is no list: it takes no selector, --phase, --since, --sort-by, --limit, "
                    "--no-headers or -w",
                    verb.name, *found_in(options.arguments, verb.arguments.front().name)));
  }
  if (action && !options.more_names.empty()) {
    return wrong_usage(fmt::format("unexpected argument \"{}\"", options.more_names.front()));
  }
  ATHANOR_TRY_VOID(check_watch(options.list));
  ATHANOR_TRY(ListFilter filter, ListFilter::parse(options.list, {}, wall_clock()->now()));
  ClusterContext context(std::move(session), options, std::move(filter));
  return verb.lists && !action ? run_list(context, options) : run_action(context, options);
}

}  // namespace

Result<std::unique_ptr<VerbContext>> open_context(const Target& target) {
  static const Verb kNone{};
  static const SystemVerbOptions kOptions{.verb = &kNone};
  ATHANOR_TRY(Session session, Session::open(target, Session::Home::Jobs));
  return std::unique_ptr<VerbContext>(
      std::make_unique<ClusterContext>(std::move(session), kOptions, ListFilter()));
}

int run(const SystemVerbOptions& options) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto code = run_verb(*std::move(session), options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
