// SPDX-License-Identifier: Apache-2.0
// The notation, written and read.
#include "kube/value/value_bytes.hpp"

#include <bit>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "kube/value/value_access.hpp"

namespace athanor::value_bytes {

void put_mark(std::string& out, Mark mark) {
  out += static_cast<char>(mark);
}

void put_number(std::string& out, std::uint64_t number) {
  constexpr std::uint64_t kMore = 0x80;
  while (number >= kMore) {
    out += static_cast<char>(number | kMore);
    number >>= 7U;
  }
  out += static_cast<char>(number);
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

Mark get_mark(std::string_view& in) {
  ATHANOR_CHECK(!in.empty(), "packed bytes are whole");
  const auto mark = static_cast<Mark>(in.front());
  in.remove_prefix(1);
  return mark;
}

std::uint64_t get_number(std::string_view& in) {
  constexpr unsigned char kMore = 0x80;
  std::uint64_t number = 0;
  unsigned shift = 0;
  while (true) {
    ATHANOR_CHECK(!in.empty(), "packed bytes are whole");
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & (kMore - 1U)) << shift;
    if (byte < kMore) {
      return number;
    }
    shift += 7;
  }
}

std::string_view get_text(std::string_view& in) {
  const std::size_t size = get_number(in);
  ATHANOR_CHECK(size <= in.size(), "packed bytes are whole");
  const std::string_view text = in.substr(0, size);
  in.remove_prefix(size);
  return text;
}

void put(std::string& out, const Value& value, Texts& texts) {
  switch (value.type()) {
    case Value::Type::Null:
      return put_mark(out, Mark::Null);
    case Value::Type::Bool:
      return put_mark(out, value.as_bool() ? Mark::True : Mark::False);
    case Value::Type::Int: {
      const std::int64_t number = value.as_int();
      put_mark(out, number < 0 ? Mark::Negative : Mark::Positive);
      return put_number(out, static_cast<std::uint64_t>(number < 0 ? -1 - number : number));
    }
    case Value::Type::Uint:
      put_mark(out, Mark::Uint);
      return put_number(out, value.as_uint());
    case Value::Type::Double:
      put_mark(out, Mark::Double);
      return put_number(out, std::bit_cast<std::uint64_t>(value.as_double()));
    case Value::Type::String:
      return texts.put_string(out, value.as_string());
    case Value::Type::List:
      put_mark(out, Mark::List);
      put_number(out, value.size());
      for (const Value& item : value.items()) {
        put(out, item, texts);
      }
      return;
    case Value::Type::Object:
      put_mark(out, Mark::Object);
      put_number(out, value.size());
      for (const Member& member : value.members()) {
        texts.put_name(out, member.name);
        put(out, member.value, texts);
      }
      return;
  }
}

Value Reader::get_list(std::string_view& in, Texts& texts) {
  const std::size_t size = get_number(in);
  const std::size_t begin = items_.size();
  for (std::size_t i = 0; i < size; ++i) {
    Value item = get(in, texts);
    items_.push_back(std::move(item));
  }
  Value list = ValueAccess::list_of(std::span(items_).subspan(begin));
  items_.resize(begin);
  return list;
}

Value Reader::get_object(std::string_view& in, Texts& texts) {
  const std::size_t size = get_number(in);
  const std::size_t begin = members_.size();
  for (std::size_t i = 0; i < size; ++i) {
    Value name = texts.get_name(in);
    Value value = get(in, texts);
    members_.emplace_back(std::move(name), std::move(value));
  }
  Value object = ValueAccess::object_of_distinct(std::span(members_).subspan(begin));
  members_.resize(begin);
  return object;
}

Value Reader::get(std::string_view& in, Texts& texts) {
  switch (const Mark mark = get_mark(in)) {
    case Mark::Null:
      return {};
    case Mark::False:
      return false;
    case Mark::True:
      return true;
    case Mark::Positive:
      return static_cast<std::int64_t>(get_number(in));
    case Mark::Negative:
      return -1 - static_cast<std::int64_t>(get_number(in));
    case Mark::Uint:
      return get_number(in);
    case Mark::Double:
      return std::bit_cast<double>(get_number(in));
    case Mark::List:
      return get_list(in, texts);
    case Mark::Object:
      return get_object(in, texts);
    default:
      return texts.get_string(mark, in);
  }
}

}  // namespace athanor::value_bytes
