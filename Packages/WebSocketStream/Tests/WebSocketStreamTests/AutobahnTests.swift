import Testing

@testable import WebSocketStream

/// The cases of the Autobahn test suite, for both roles, with the bytes whole, one by one, and in pieces.
@Suite struct AutobahnTests {
    @Test(arguments: AutobahnCase.all, WebSocketMachine.Role.allCases)
    func conforms(_ test: AutobahnCase, _ role: WebSocketMachine.Role) {
        for size in test.pieces {
            var echo = Echo(role)
            echo.receive(test.frames, pieces: size)
            switch test.outcome {
            case .sends(let frames):
                #expect(echo.error == nil, "pieces of \(size ?? 0)")
                #expect(echo.sent == frames, "pieces of \(size ?? 0)")
            case .fails(let code, let frames):
                #expect(echo.error != nil, "pieces of \(size ?? 0)")
                #expect(echo.sent == frames + [.close(code)], "pieces of \(size ?? 0)")
                #expect(echo.machine.state == .failed)
            }
        }
    }

    /// The number of cases of each group, so that none is lost.
    @Test func hasAllCases() {
        let counts = Dictionary(grouping: AutobahnCase.all, by: \.group).mapValues(\.count)
        #expect(counts == [1: 16, 2: 11, 3: 7, 4: 10, 5: 20, 6: 143, 7: 37, 9: 54, 10: 1])
        #expect(Set(AutobahnCase.all.map(\.id)).count == AutobahnCase.all.count)
    }

    /// 6.4.3 and 6.4.4: invalid text fails although its frame is incomplete.
    @Test(arguments: AutobahnCase.unfinished.indices, WebSocketMachine.Role.allCases)
    func failsWithinFrame(_ index: Int, _ role: WebSocketMachine.Role) {
        let (_, payload, missing) = AutobahnCase.unfinished[index]
        let frame = WireFrame.text(payload + [UInt8](repeating: 0x61, count: missing))
        let bytes = frame.bytes(masked: role == .server).dropLast(missing)
        var echo = Echo(role)
        echo.receive(bytes)
        #expect(echo.sent == [.close(1007)])
    }

    // MARK: 12 and 13

    /// What a message consists of: the five kinds of group 12.
    enum Content: Int, CaseIterable, Sendable {
        case json = 1
        case repeated, lines, random, binary

        func make(_ count: Int, _ seed: Int) -> [UInt8] {
            var random = Generator(seed: UInt64(seed) &* 77 &+ UInt64(rawValue))
            switch self {
            case .json:
                var text = "["
                while text.utf8.count < count { text += "{\"id\": \(random.next() % 1000), \"name\": \"κόσμε\"}, " }
                return Array(text.utf8)
            case .repeated: return [UInt8](repeating: 0x2A, count: count)
            case .lines:
                return Array((0...count / 24).map { "line \($0) of a log, \(seed)\n" }.joined().utf8)
            case .random: return (0..<count).map { _ in UInt8(truncatingIfNeeded: 32 + random.next() % 90) }
            case .binary: return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            }
        }
    }

    /// The lengths of messages, and of the fragments in which their compressed forms are sent: 18, as in groups 12 and 13.
    static let sizes: [(message: Int, fragment: Int)] =
        [16, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536, 131072].map { ($0, Int.max) }
        + [
            (8192, 256), (16384, 256), (32768, 256), (65536, 256), (8192, 1024), (16384, 1024), (32768, 1024),
            (131072, 8192),
        ]

    /// The offers of group 13: whether the server keeps no context, and the window that is requested of it.
    static let parameters: [(keepsContext: Bool, windowBits: Int)] = [
        (true, 15), (false, 15), (true, 9), (true, 15), (false, 9), (false, 15), (false, 10),
    ]

    /// 12.1–12.5: compressed messages of each content and size, with context.
    @Test(arguments: Content.allCases, sizes.indices)
    func returnsCompressed(_ content: Content, _ index: Int) throws {
        try exchange(content, AutobahnTests.sizes[index], WebSocketCompressionAgreement(WebSocketCompression()))
    }

    /// 13.1–13.7: with each combination of context and window.
    @Test(arguments: parameters.indices, sizes.indices)
    func returnsCompressedWith(_ row: Int, _ index: Int) throws {
        var options = WebSocketCompression()
        let (keepsContext, bits) = AutobahnTests.parameters[row]
        options.keepsSendContext = keepsContext
        options.keepsReceiveContext = keepsContext
        options.sendWindowBits = bits
        options.receiveWindowBits = bits
        try exchange(.json, AutobahnTests.sizes[index], WebSocketCompressionAgreement(options))
    }

    /// Sends several messages to an echo, and decompresses what it returns.
    private func exchange(
        _ content: Content, _ size: (message: Int, fragment: Int), _ agreement: WebSocketCompressionAgreement
    ) throws {
        for role in WebSocketMachine.Role.allCases {
            var echo = Echo(role, compression: agreement)
            var deflater = MessageDeflater(agreement)
            var inflater = MessageInflater(agreement)
            let isText = content != .binary
            var compressedCount = 0
            for seed in 0..<4 {
                let message = content.make(size.message, seed % 2)
                let opcode: UInt8 = isText ? 1 : 2
                if let compressed = deflater.compress(message) {
                    echo.receive(WireFrame.fragments(opcode, compressed, of: size.fragment, isCompressed: true))
                } else {
                    echo.receive([WireFrame(opcode: opcode, payload: message)])
                }
                let answer = try #require(echo.sent.last)
                #expect(echo.error == nil)
                #expect(echo.sent.count == seed + 1)
                #expect(answer.opcode == opcode)
                guard answer.reserved == 4 else {
                    #expect(answer.payload == message)
                    continue
                }
                compressedCount += 1
                var result: [UInt8] = []
                try inflater.decompress(answer.payload, into: &result, limit: 1 << 20)
                try inflater.finish(into: &result, limit: 1 << 20)
                #expect(result == message)
            }
            if content.make(size.message, 0).count >= 64 { #expect(compressedCount == 4) }
        }
    }
}

/// A generator with a seed, so that each run is the same.
struct Generator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &+ 0x9E37_79B9_7F4A_7C15
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
