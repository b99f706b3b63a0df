// Requests and responses survive conversion to JSON and back; anything else is refused, never misread.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/execute.hpp"

namespace {

TEST(Protocol, RequestRoundTrip) {
  lab::request sent;
  sent.entry = "transpose";
  sent.what = lab::action::profile;
  sent.parameters = {3, -5};
  sent.input_specs = {{lab::dtype::f32, 15}, {lab::dtype::u8, 0}, {lab::dtype::bf16, 3}};
  sent.output_specs = {{lab::dtype::f64, 7}};
  sent.metrics = {"a.sum", "b.pct"};
  sent.pairs = 21;
  sent.ceiling = "cublas";
  sent.copy_bytes = 1e9;
  const lab::request got = lab::request_from_json(lab::to_json(sent));
  EXPECT_EQ(got.entry, sent.entry);
  EXPECT_EQ(got.what, sent.what);
  EXPECT_EQ(got.parameters, sent.parameters);
  ASSERT_EQ(got.input_specs.size(), 3u);
  EXPECT_EQ(got.input_specs[1].type, lab::dtype::u8);
  EXPECT_EQ(got.input_specs[2].bytes(), 6u);
  EXPECT_EQ(got.output_specs.at(0).bytes(), 56u);
  EXPECT_EQ(got.metrics, sent.metrics);
  EXPECT_EQ(got.pairs, 21);
  EXPECT_EQ(got.ceiling, "cublas");
  EXPECT_EQ(got.copy_bytes, 1e9);
}

TEST(Protocol, ResponseRoundTrip) {
  lab::response sent;
  sent.error = "\"quoted\"\n";
  sent.reports = {"out of bounds"};
  sent.notes = {"no counters"};
  sent.metrics = {{"a.sum", 0.1}, {"b.pct", std::numeric_limits<double>::quiet_NaN()}};
  sent.call_seconds = {1e-3, 2e-3};
  sent.ceiling_seconds = {3e-3};
  sent.launches.resize(1);
  sent.launches[0].kernel = "tile<32>";
  sent.launches[0].grid[1] = 7;
  sent.launches[0].modelled_seconds = 1.5e-6;
  sent.launches[0].lines = {
      {.file = "a.cu", .line = 12, .operation = "global load", .requests = 32, .sectors = 128, .ideal = 128}};
  const lab::response got = lab::response_from_json(lab::to_json(sent));
  EXPECT_EQ(got.error, sent.error);
  EXPECT_EQ(got.reports, sent.reports);
  EXPECT_EQ(got.notes, sent.notes);
  EXPECT_EQ(got.metrics.at("a.sum"), 0.1);
  EXPECT_TRUE(std::isnan(got.metrics.at("b.pct")));
  EXPECT_EQ(got.call_seconds, sent.call_seconds);
  EXPECT_EQ(got.ceiling_seconds, sent.ceiling_seconds);
  ASSERT_EQ(got.launches.size(), 1u);
  EXPECT_EQ(got.launches[0].kernel, "tile<32>");
  EXPECT_EQ(got.launches[0].grid[1], 7u);
  EXPECT_EQ(got.launches[0].lines.at(0).sectors, 128u);
}

TEST(Protocol, TextThatIsNotUtf8IsReplaced) {
  lab::response sent;
  sent.error = "\xff\xfe";
  EXPECT_NE(lab::response_from_json(lab::to_json(sent)).error, "");
}

TEST(Protocol, AnythingElseIsRefused) {
  for (const char* text : {"", "{", "[]", "7", "null", R"({"error":1})", R"({"entry":"f"})"}) {
    EXPECT_THROW(lab::request_from_json(text), std::runtime_error) << text;
    EXPECT_THROW(lab::response_from_json(text), std::runtime_error) << text;
  }
  lab::request huge;
  huge.output_specs = {{lab::dtype::f32, -1}};
  EXPECT_THROW(lab::request_from_json(lab::to_json(huge)), std::runtime_error);
}

}  // namespace
