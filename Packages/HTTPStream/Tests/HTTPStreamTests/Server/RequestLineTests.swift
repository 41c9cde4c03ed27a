import EventLoops
import HTTPMessage
import HTTPStreamTesting
import HostResolver
import StreamKit
import Testing

@testable import HTTPStream

/// Every byte in every part of a request line, sent to a server over a connection.
@Suite(.timeLimit(.minutes(20))) struct RequestLineTests {
    /// A place in the line, and the status of the response for each byte in it.
    struct Place: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let line: @Sendable (UInt8) -> [UInt8]
        let status: @Sendable (UInt8) -> String

        /// - Parameters:
        ///   - isReplacing: whether the byte replaces the one at the index, or is inserted before it.
        init(
            _ line: String, _ name: String, at index: Int, isReplacing: Bool,
            _ status: @escaping @Sendable (UInt8) -> String
        ) {
            testDescription = name
            self.status = status
            self.line = { byte in
                var bytes = Array(line.utf8)
                if isReplacing { bytes[index] = byte } else { bytes.insert(byte, at: index) }
                return bytes
            }
        }
    }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
            || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    /// Visible ASCII, and no fragment.
    private static func isTarget(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte && byte != UInt8(ascii: "#") }

    private static let line = "GET /ab?c HTTP/1.1"

    private static let places: [Place] = {
        let method: @Sendable (UInt8) -> String = { isToken($0) ? "200" : "400" }
        let target: @Sendable (UInt8) -> String = { isTarget($0) ? "200" : "400" }
        var places = [
            Place(line, "before the method", at: 0, isReplacing: false, method),
            Place(line, "in the method", at: 1, isReplacing: false, method),
            Place(line, "behind the method", at: 3, isReplacing: false, method),
            Place(line, "the space behind the method", at: 3, isReplacing: true) {
                $0 == UInt8(ascii: " ") ? "200" : "400"
            },
            Place(line, "the first byte of the target", at: 4, isReplacing: true) {
                $0 == UInt8(ascii: "/") ? "200" : "400"
            },
            Place(line, "in the path", at: 6, isReplacing: false, target),
            Place(line, "in the query", at: 8, isReplacing: false, target),
            Place(line, "behind the query", at: 9, isReplacing: false, target),
            Place(line, "the space behind the target", at: 9, isReplacing: true) {
                $0 == UInt8(ascii: " ") ? "200" : "400"
            },
            Place(line, "behind the version", at: 18, isReplacing: false) { _ in "400" },
            Place("GET http://ab/ HTTP/1.1", "in the host of an absolute target", at: 12, isReplacing: false) { byte in
                // The host ends there, or is another one than that of the field.
                byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") ? "200" : "400"
            },
        ]
        for index in 10..<18 {
            places.append(
                Place(line, "byte \(index - 9) of the version", at: index, isReplacing: true) { byte in
                    let isRight = byte == Array(line.utf8)[index]
                    guard index == 15 || index == 17 else { return isRight ? "200" : "400" }
                    if isRight || index == 17 && byte == UInt8(ascii: "0") { return "200" }
                    return UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte ? "505" : "400"
                })
        }
        return places
    }()

    @Test(arguments: places)
    func everyByte(_ place: Place) async throws {
        var configuration = HTTPServer.Configuration.patient
        configuration.hosts = .any
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task { try await server.run { try await $0.respond(.ok) } }
        let address = SocketAddress.ip(.v4(.loopback), port: try #require(server.port))
        var wrong: [String] = []
        for byte in UInt8.min ... .max {
            let pair = StreamPair(address: address)
            try pair.open()
            try await pair.output.writeAll(place.line(byte) + Array("\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
            var answer: [UInt8] = []
            while case let more = try await pair.input.read(upTo: 4096), !more.isEmpty { answer += more }
            pair.close()
            let status = String(decoding: answer.dropFirst(9).prefix(3), as: UTF8.self)
            if status != place.status(byte) { wrong.append("\(byte): \(status)") }
        }
        server.stop(within: .zero)
        try await running.value
        #expect(wrong.isEmpty)
    }
}
