-- Tideline from LuaJIT: the header as the C compiler prints it, a client in memory, a message in, a
-- page out.
--   luajit examples/luajit/sample.lua Include/tideline.h out/lib/libtideline.so.1
local ffi = require "ffi"

local header, library = arg[1] or "Include/tideline.h", arg[2] or "libtideline.so.1"
local printed = assert(io.popen("gcc -E -P '" .. header .. "'"))
-- The C library's own declarations come along; LuaJIT needs those of the header alone.
local declarations = printed:read "*a":match "typedef int32_t tl_status.*"
printed:close()
ffi.cdef(declarations)
local C = ffi.load(library)

local function view(text)
  -- The text has to live as long as the call: it is held by whoever calls.
  return ffi.new("tl_view", ffi.cast("const uint8_t *", text), #text)
end

local function text(view)
  return ffi.string(view.data, view.size)
end

local function sized(name)
  local made = ffi.new(name)
  made.struct_size = ffi.sizeof(name)
  return made
end

local function check(status)
  if status < 0 then error(ffi.string(C.tl_last_error()), 0) end
  return status
end

-- A pointer that a call gave, and that is freed with the last of those who hold it.
local function owned(name, free, call)
  local out = ffi.new(name .. " *[1]")
  check(call(out))
  return ffi.gc(out[0], free)
end

local user, room = "eva", "general"
local config = sized "tl_client_config"
config.flags, config.user_id = C.TL_OPEN_MEMORY, view(user)
local client = owned("tl_client", C.tl_client_free, function(out)
  return C.tl_client_open(config, out)
end)

local function receive(frame) return check(C.tl_client_receive(client, view(frame))) end
print("refused: " .. select(2, pcall(receive, "no JSON")))
receive [[{"type":"message_new","message":{"message_id":"m1","conversation_id":"general",
  "sender_id":"jan","payload":{"text":"hi"},"created_at":"2026-02-15T22:15:45"}}]]

local query, count = sized "tl_query", ffi.new "size_t[1]"
query.conversation = view(room)
local batch = owned("tl_batch", C.tl_batch_free, function(out)
  return C.tl_client_messages(client, query, out)
end)
local rows = C.tl_batch_rows(batch, count)
print(("%d message: %s %s"):format(tonumber(count[0]), text(rows[0].sender), text(rows[0].payload)))
