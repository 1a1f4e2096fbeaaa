// SPDX-License-Identifier: Apache-2.0
// Verb: one word of the command line that a system brings (`athanor greet NAME`), as a function
// over a narrow port to an API server, so that it needs neither sockets nor a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// A flag of a system's verb.
struct VerbFlag {
  std::string_view name{};   // "owner" for --owner
  std::string_view value{};  // placeholder ("NAME"); empty: the flag takes no value
  std::string_view help{};
};

// A positional argument of a system's verb.
struct VerbArgument {
  std::string_view name{};  // "NAME"
  std::string_view help{};
  bool required = false;
};

// Services for a verb. The command line implements them over HTTPS, tests over a map of objects.
class VerbContext {
 public:
  virtual ~VerbContext() = default;

  // Returns nullopt if it is not given. A flag without value is given as "".
  [[nodiscard]] virtual std::optional<std::string> flag(std::string_view name) const = 0;
  [[nodiscard]] virtual std::optional<std::string> argument(std::string_view name) const = 0;
  // Returns the names of a list: every argument unless the first is an action; empty: all objects.
  [[nodiscard]] virtual std::vector<std::string> names() const { return {}; }
  // Returns the namespace to work in; empty with --all-namespaces.
  [[nodiscard]] virtual const std::string& ns() const = 0;
  // Returns "table", "wide", "json", "yaml" or "name"; "json" also for formats with a pattern.
  [[nodiscard]] virtual std::string_view output() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;

  // Gets an object. Errors carry the API server's Status.
  virtual Result<Object> get(const Kind& kind, const Key& key) = 0;
  virtual Result<std::vector<Object>> list(const Kind& kind, const std::string& ns) = 0;
  // Lists those whose labels a selector takes ("a=b,c"; empty: all). Errors: no selector, too.
  virtual Result<std::vector<Object>> list_labelled(const Kind& kind, const std::string& ns,
                                                    const std::string& selector) {
    ATHANOR_TRY(std::vector<Object> objects, list(kind, ns));
    if (selector.empty()) {
      return objects;
    }
    ATHANOR_TRY(const LabelSelector labels, LabelSelector::parse(selector));
    std::erase_if(objects, [&](const Object& object) {
      return !labels.matches(object.body()["metadata"]["labels"]);
    });
    return objects;
  }
  virtual Result<Object> create(const Kind& kind, const Value& object) = 0;
  // Sends a merge patch (RFC 7396) of the object or of one subresource.
  virtual Result<Object> patch(const Kind& kind, const Key& key, const Value& merge,
                               std::string_view subresource = {}) = 0;
  virtual Result<void> remove(const Kind& kind, const Key& key) = 0;
  // Posts to a subresource ("eviction" of a pod) and returns the answer.
  virtual Result<Value> post(const Kind& kind, const Key& key, std::string_view subresource,
                             const Value& body) = 0;

  virtual void wait(Duration time) = 0;

  // Returns true for a list that shows a part of the objects: selectors, times, names.
  [[nodiscard]] virtual bool filtered() const { return false; }
  // Returns true if the list's selectors take the object.
  [[nodiscard]] virtual bool selects(const Object& /*object*/) const { return true; }

  // Writes to standard output.
  virtual void print(std::string_view text) = 0;
  // Prints rows below a header, in aligned columns.
  virtual void table(const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows) = 0;
  // Prints values as -o json or -o yaml; one value alone, several as a List.
  virtual void values(const std::vector<Value>& items) = 0;
};

// A verb that a system adds to the command line.
struct Verb {
  std::string_view name{};
  std::string_view summary{};  // one line
  std::string_view footer{};   // examples
  std::vector<VerbArgument> arguments{};
  std::vector<VerbFlag> flags{};
  // Prints a list: takes selectors, --sort-by, --limit, --no-headers and -w, except where the first
  // argument is one of `actions`.
  bool lists = false;
  std::vector<std::string_view> actions{};
  std::string_view names{};       // what a list's arguments name ("nodes"); empty: no names
  bool namespaced = true;         // takes -A, too
  std::string_view default_ns{};  // where -n is not given; empty: the context's
  // Returns the exit code; an error prints as "athanor: MESSAGE" and exits with 1.
  Result<int> (*run)(VerbContext& context) = nullptr;
};

}  // namespace athanor
