// Requests over HTTP, many at once and with too little memory, get the texts that each would get alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "endpoint.hpp"

namespace {

using namespace lab15;
using nlohmann::json;

class endpoint : public testing::Test {
 protected:
  /// `ask(client number, client)` in as many threads; the server has room for `pages`, and ends after `requests`.
  template <class F>
  void serve_to(int clients, int slots, int pages, int requests, F ask) {
    engine_ = std::make_unique<live_engine>(model_, slots, pages, requests);
    httplib::Server server;
    offer_completions(server, *engine_, words_);
    const int port = server.bind_to_any_port("127.0.0.1");
    std::thread listener([&] { server.listen_after_bind(); });
    std::vector<std::thread> asking;
    for (int i = 0; i < clients; ++i)
      asking.emplace_back([&, i] {
        httplib::Client client("127.0.0.1", port);
        client.set_read_timeout(60);
        ask(i, client);
      });
    serve(*engine_);
    for (std::thread& t : asking) t.join();
    server.stop();
    listener.join();
    EXPECT_EQ(engine_->free_pages(), pages);
  }

  static json post(httplib::Client& client, const json& body, int status = 200) {
    const auto answer = client.Post("/v1/completions", body.dump(), "application/json");
    if (!answer) return ADD_FAILURE() << to_string(answer.error()), json();
    EXPECT_EQ(answer->status, status) << answer->body;
    return json::parse(answer->body);
  }

  const llama::checkpoint model_ = llama::read_folder(TINY_LLAMA);
  const gpt2::tokenizer words_{std::filesystem::path(TINY_GPT2)};
  std::unique_ptr<live_engine> engine_;
};

TEST_F(endpoint, WritesWhatAProgramOfOthersWrites) {
  std::ifstream in(std::filesystem::path(TINY_LLAMA) / "expected.json");
  const json texts = json::parse(in);
  // 4 slots whose texts take up to 4 pages each, and 10 pages.
  serve_to(12, 4, 10, 24, [&](int i, httplib::Client& client) {
    const json& text = texts[static_cast<std::size_t>(i) % texts.size()];
    const json body = {
        {"model", "llama"}, {"prompt", text["prompt"]}, {"max_tokens", text["tokens"].size()}, {"temperature", 0}};
    const std::string want = words_.decode(text["tokens"].get<std::vector<int>>());
    const json got = post(client, body);
    EXPECT_EQ(got["choices"][0]["text"], want);
    EXPECT_EQ(got["choices"][0]["finish_reason"], "length");
    EXPECT_EQ(got["usage"]["total_tokens"], text["prompt_tokens"].size() + text["tokens"].size());

    json streamed = body;
    streamed["stream"] = true, streamed["prompt"] = text["prompt_tokens"];
    const auto answer = client.Post("/v1/completions", streamed.dump(), "application/json");
    ASSERT_TRUE(answer);
    std::string all;
    std::size_t events = 0;
    for (std::size_t at = 0; (at = answer->body.find("data: {", at)) != std::string::npos; ++events) {
      at += 6;
      all += json::parse(answer->body.substr(at, answer->body.find('\n', at) - at))["choices"][0]["text"];
    }
    EXPECT_EQ(all, want);
    EXPECT_EQ(events, text["tokens"].size() + 1);
    EXPECT_TRUE(answer->body.ends_with("data: [DONE]\n\n"));
  });
  EXPECT_GT(engine_->seen().preemptions, 0);
  EXPECT_LT(engine_->seen().steps, 24 * 48);  // texts share steps
}

TEST_F(endpoint, ComputesSharedPagesOnce) {
  const std::vector<int> system(64, 33);
  serve_to(8, 8, 64, 8, [&](int i, httplib::Client& client) {
    std::vector<int> prompt = system;
    if (i > 0) prompt.push_back(40 + i);
    post(client, {{"prompt", prompt}, {"max_tokens", 60}});
  });
  // The first one may have computed its prompt before any other came.
  EXPECT_GE(engine_->seen().shared, 6 * 63);
}

TEST_F(endpoint, SaysWhatIsWrong) {
  serve_to(1, 2, 8, 1, [&](int, httplib::Client& client) {
    const auto expect = [&](const json& body, const std::string& part, int status = 400) {
      const json got = post(client, body, status);
      EXPECT_NE(got["error"]["message"].get<std::string>().find(part), std::string::npos) << got;
    };
    expect("text", "not a JSON object");
    expect({{"max_tokens", 3}}, "prompt must be");
    expect({{"prompt", {"a", "b"}}}, "prompt has the wrong type");
    expect({{"prompt", ""}}, "at least one token");
    expect({{"prompt", {512}}}, "token 512 is not one of the model's 512");
    expect({{"prompt", "a"}, {"max_tokens", 0}}, "at least one");
    expect({{"prompt", "a"}, {"max_tokens", 128}}, "more than the 128");
    expect({{"prompt", "a"}, {"max_tokens", (1LL << 32) + 1}}, "max_tokens is out of range");
    expect({{"prompt", "a"}, {"max_tokens", 2.5}}, "max_tokens has the wrong type");
    expect({{"prompt", {(1LL << 32) + 1}}}, "prompt is out of range");
    expect({{"prompt", "a"}, {"temperature", -1}}, "at least 0");
    expect({{"prompt", "a"}, {"n", 2}}, "n is not offered");
    expect({{"prompt", "a"}, {"model", "gpt-4"}}, "no model gpt-4", 404);
    const auto models = client.Get("/v1/models");
    ASSERT_TRUE(models);
    EXPECT_EQ(json::parse(models->body)["data"][0]["id"], "llama");
    post(client, {{"prompt", "a"}, {"max_tokens", 1}});
    expect({{"prompt", "a"}}, "has had all of its requests", 503);
  });
}

/// Two mistakes of a scheduler, and one of a pager.
TEST_F(endpoint, NamesAnInvalidCall) {
  live_engine engine(model_, 1, 4, 2);
  engine.submit({1, 2}, 4, {});
  engine.submit({1, 2}, 4, {});
  EXPECT_THROW(engine.step(), misuse);
  EXPECT_THROW(engine.admit(2), misuse);
  engine.admit(0);
  EXPECT_THROW(engine.admit(0), misuse);
  EXPECT_THROW(engine.admit(1), misuse);
  EXPECT_THROW(engine.preempt(1), misuse);
  EXPECT_THROW(engine.wait(), misuse);
  engine.preempt(0);
  engine.admit(1);
  engine.step();
  EXPECT_EQ(engine.tokens(1), 3);
}

}  // namespace
