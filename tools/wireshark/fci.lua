-- SPDX-License-Identifier: BSD-3-Clause
-- What FCI sends over a network, for Wireshark 3.6 and later: the hellos and frames of its TCP
-- connections (drivers/tcp/hello.h, frame.h), and the datagrams of its hints (drivers/multicast/
-- datagram.h). It finds them by what they begin with, at any port.
--
--   wireshark -X lua_script:fci.lua        tshark -X lua_script:fci.lua -Y fci -r FILE
--
-- A connection is known from its beginning only. Numbers are as the processor has them: of one that
-- has the lowest byte first.

local MAGIC = "46434974637000"  -- "FCItcp", and a version
local HELLO, HEAD, PART, DATA, LINE = 88, 8, 16, 24, 8
local HEADING, PIECE = 56, 1416
local HINT_VERSION, HINT_MAGIC = 2, 0xfc
local TRANSFER, GOODBYE, MESSAGE, REQUEST, LOSS = 1, 2, 3, 4, 5

local fci = Proto("fci", "Fast Communication Interface")

local kinds = {
    [TRANSFER] = "transfer", [GOODBYE] = "goodbye", [MESSAGE] = "data", [REQUEST] = "request",
    [LOSS] = "loss",
}
local verdicts = {[0] = "welcome", [1] = "crossing", [2] = "mismatch", [3] = "gone"}
local f = {
    version = ProtoField.uint8("fci.hello.version", "Version"),
    job = ProtoField.uint64("fci.hello.job", "Job", base.HEX),
    layout = ProtoField.uint64("fci.hello.layout", "Layout digest", base.HEX),
    sizes = ProtoField.uint64("fci.hello.sizes", "Sizes", base.HEX),
    block = ProtoField.uint64("fci.hello.block", "Bytes of request blocks"),
    from = ProtoField.ipv4("fci.hello.from", "From"),
    from_port = ProtoField.uint16("fci.hello.from_port", "Its port"),
    from_incarnation = ProtoField.uint64("fci.hello.from_incarnation", "Its incarnation", base.HEX),
    to = ProtoField.ipv4("fci.hello.to", "To"),
    to_port = ProtoField.uint16("fci.hello.to_port", "Its port"),
    to_incarnation = ProtoField.uint64("fci.hello.to_incarnation", "Its incarnation", base.HEX),
    pid = ProtoField.uint32("fci.hello.pid", "Process"),
    verdict = ProtoField.uint32("fci.hello.verdict", "Verdict", base.DEC, verdicts),
    rank = ProtoField.int64("fci.hello.rank", "Rank"),

    kind = ProtoField.uint8("fci.frame.kind", "Kind", base.DEC, kinds),
    parts = ProtoField.uint8("fci.frame.parts", "Parts"),
    events = ProtoField.uint32("fci.frame.events", "Events", base.HEX),
    address = ProtoField.uint64("fci.frame.address", "Address", base.HEX),
    bytes = ProtoField.uint64("fci.frame.bytes", "Bytes"),
    lost = ProtoField.int32("fci.frame.lost", "Rank that was lost"),
    payload = ProtoField.bytes("fci.frame.payload", "Payload"),
    name = ProtoField.uint64("fci.data.name", "Buffer", base.HEX),
    offset = ProtoField.uint64("fci.data.offset", "Offset"),
    words = ProtoField.uint8("fci.request.words", "Words that differ", base.HEX),
    moves = ProtoField.uint8("fci.request.moves", "Addresses that do not follow on", base.HEX),
    word = ProtoField.uint64("fci.request.word", "Word", base.HEX),

    cookie = ProtoField.uint32("fci.hint.cookie", "Cookie", base.HEX),
    hint_version = ProtoField.uint8("fci.hint.version", "Version"),
    host = ProtoField.uint16("fci.hint.rank", "Rank in the group"),
    group = ProtoField.uint64("fci.hint.name", "Group", base.HEX),
    serial = ProtoField.uint64("fci.hint.serial", "Count of its sender's datagrams"),
    number = ProtoField.uint64("fci.hint.number", "Number"),
    at = ProtoField.uint32("fci.hint.offset", "Offset"),
    total = ProtoField.uint32("fci.hint.total", "Total"),
    tag = ProtoField.bytes("fci.hint.tag", "Tag"),
    sealed = ProtoField.bytes("fci.hint.sealed", "Data, encrypted"),
}
local fields = {}
for _, field in pairs(f) do fields[#fields + 1] = field end
fci.fields = fields
local broken = ProtoExpert.new("fci.broken", "No frame begins so", expert.group.MALFORMED,
                               expert.severity.ERROR)
fci.experts = {broken}

-- --- connections ---

local function add_hello(buffer, tree)
    local hello = tree:add(fci, buffer, "FCI, hello")
    hello:add(f.version, buffer(7, 1))
    hello:add_le(f.job, buffer(8, 8))
    hello:add_le(f.layout, buffer(16, 8))
    hello:add_le(f.sizes, buffer(24, 8))
    hello:add_le(f.block, buffer(32, 8))
    hello:add(f.from, buffer(44, 4))
    hello:add_le(f.from_port, buffer(42, 2))
    hello:add_le(f.from_incarnation, buffer(48, 8))
    hello:add(f.to, buffer(60, 4))
    hello:add_le(f.to_port, buffer(58, 2))
    hello:add_le(f.to_incarnation, buffer(64, 8))
    hello:add_le(f.pid, buffer(72, 4))
    hello:add_le(f.verdict, buffer(76, 4))
    hello:add_le(f.rank, buffer(80, 8))
    return "hello of rank " .. tostring(buffer(80, 8):le_int64())
end

local function bits(number)
    local count = 0
    while number > 0 do
        count = count + number % 2
        number = math.floor(number / 2)
    end
    return count
end

-- Of a frame that begins here: how long its heads are, and all of it. nil: it is none. The first
-- alone: so much must be here to know.
local function length_of(buffer)
    if buffer:len() < HEAD then return HEAD end
    local kind, second, third = buffer(0, 1):uint(), buffer(1, 1):uint(), buffer(2, 1):uint()
    if kind == GOODBYE or kind == LOSS then return HEAD, HEAD end
    if kind == REQUEST then
        local heads = HEAD + LINE * (bits(second) + bits(third))
        return heads, heads + buffer(4, 4):le_uint()
    end
    if kind == MESSAGE then
        if buffer:len() < HEAD + DATA then return HEAD + DATA end
        return HEAD + DATA, HEAD + DATA + buffer(HEAD + 16, 8):le_uint64():tonumber()
    end
    if kind ~= TRANSFER then return nil end
    local heads = HEAD + PART * second
    if buffer:len() < heads then return heads end
    local length = heads
    for i = 0, second - 1 do
        length = length + buffer(HEAD + PART * i + 8, 8):le_uint64():tonumber()
    end
    return heads, length
end

local function add_frame(buffer, heads, tree)
    local kind = buffer(0, 1):uint()
    local frame = tree:add(fci, buffer, "FCI, " .. kinds[kind])
    frame:add(f.kind, buffer(0, 1))
    if kind == TRANSFER then
        frame:add(f.parts, buffer(1, 1))
        frame:add_le(f.events, buffer(4, 4))
        for at = HEAD, heads - PART, PART do
            frame:add_le(f.address, buffer(at, 8))
            frame:add_le(f.bytes, buffer(at + 8, 8))
        end
    elseif kind == LOSS then
        frame:add_le(f.lost, buffer(4, 4))
    elseif kind == MESSAGE then
        frame:add_le(f.name, buffer(HEAD, 8))
        frame:add_le(f.offset, buffer(HEAD + 8, 8))
        frame:add_le(f.bytes, buffer(HEAD + 16, 8))
    elseif kind == REQUEST then
        frame:add(f.words, buffer(1, 1))
        frame:add(f.moves, buffer(2, 1))
        frame:add_le(f.events, buffer(3, 1))
        frame:add_le(f.bytes, buffer(4, 4))
        local moves = bits(buffer(2, 1):uint())
        for at = HEAD, heads - LINE, LINE do
            frame:add_le(at < HEAD + LINE * moves and f.address or f.word, buffer(at, 8))
        end
    end
    if buffer:len() > heads then frame:add(f.payload, buffer(heads)) end
    return kinds[kind]
end

local function is_hello(buffer)
    return buffer:len() >= 8 and buffer(0, 7):bytes():tohex():lower() == MAGIC
end

-- What begins here: how long it is, and what shows it. nil: nothing that is known. The length alone:
-- so much must be here to know.
local function next_of(buffer)
    if is_hello(buffer) then return HELLO, add_hello end
    local heads, length = length_of(buffer)
    if length == nil then return heads end
    return length, function(part, tree) return add_frame(part, heads, tree) end
end

function fci.dissector(buffer, pinfo, tree)
    local at, told = 0, {}
    pinfo.cols.protocol = "FCI"
    while at < buffer:len() do
        local rest = buffer(at):tvb()
        local length, add = next_of(rest)
        if length == nil then
            tree:add(fci, rest(), "FCI, not known"):add_proto_expert_info(broken)
            break
        end
        if add == nil or length > rest:len() then
            pinfo.desegment_offset = at
            pinfo.desegment_len = length - rest:len()
            break
        end
        told[#told + 1] = add(buffer(at, length):tvb()(), tree)
        at = at + length
    end
    if #told ~= 0 then pinfo.cols.info = table.concat(told, ", ") end
    return buffer:len()
end

local function begins_connection(buffer, pinfo, tree)
    if not is_hello(buffer) then return false end
    pinfo.conversation = fci
    fci.dissector(buffer, pinfo, tree)
    return true
end

-- --- datagrams ---

local function is_hint(buffer)
    if buffer:len() < HEADING then return false end
    if buffer(4, 1):uint() ~= HINT_VERSION or buffer(5, 1):uint() ~= HINT_MAGIC then return false end
    local at, total = buffer(32, 4):le_uint(), buffer(36, 4):le_uint()
    return at + buffer:len() - HEADING <= total
end

local function add_hint(buffer, tree)
    local hint = tree:add(fci, buffer, "FCI, hint")
    hint:add_le(f.cookie, buffer(0, 4))
    hint:add(f.hint_version, buffer(4, 1))
    hint:add_le(f.host, buffer(6, 2))
    hint:add_le(f.group, buffer(8, 8))
    hint:add_le(f.serial, buffer(16, 8))
    hint:add_le(f.number, buffer(24, 8))
    hint:add_le(f.at, buffer(32, 4))
    hint:add_le(f.total, buffer(36, 4))
    hint:add(f.tag, buffer(40, 16))
    if buffer:len() > HEADING then hint:add(f.sealed, buffer(HEADING)) end
end

-- A capture on the host that sends, or of virtual interfaces, has a burst in one piece.
local function holds_hints(buffer, pinfo, tree)
    local first = buffer(0, math.min(buffer:len(), HEADING + PIECE)):tvb()
    if not is_hint(first) then return false end
    local count = 0
    for at = 0, buffer:len() - 1, HEADING + PIECE do
        local length = math.min(buffer:len() - at, HEADING + PIECE)
        if length < HEADING then break end
        add_hint(buffer(at, length):tvb()(), tree)
        count = count + 1
    end
    pinfo.cols.protocol = "FCI"
    pinfo.cols.info = (count == 1 and "hint" or count .. " hints") .. ", number " ..
        tostring(first(24, 8):le_uint64()) .. ", " .. first(32, 4):le_uint() .. " of " .. first(36, 4):le_uint()
    return true
end

fci:register_heuristic("tcp", begins_connection)
fci:register_heuristic("udp", holds_hints)
