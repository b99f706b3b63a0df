// The two requests of OpenAI's interface that a load generator needs: GET /v1/models and POST /v1/completions.
#pragma once

#include <httplib.h>

#include "live_engine.hpp"

namespace lab15 {

/// Answers at `server` until the engine has no more requests. Both must outlive it.
void offer_completions(httplib::Server& server, live_engine& engine, const gpt2::tokenizer& words);

}  // namespace lab15
