import Foundation

@testable import FTPStream

/// A dialogue as a text file: what the server says (`S:`), what is sent (`C:`), what else the machine wants (`=`), and jobs.
struct Conversation {
    static let names =
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.filter { $0.hasSuffix(".txt") } ?? []

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Conversations").path

    let lines: [String]

    init(_ name: String) throws {
        lines = try String(contentsOfFile: Self.folder + "/" + name, encoding: .utf8).split(separator: "\n").map(
            String.init
        )
        .filter { !$0.hasPrefix("#") }
    }

    /// Plays it; what differs from the file is thrown.
    ///
    /// - Parameter size: how many bytes come at once.
    func play(inPiecesOf size: Int = .max) throws {
        var machine: FTPMachine?
        var parser = FTPReplyParser()
        var seen = Seen()
        var isIPv6 = false
        for line in lines {
            let words = line.split(separator: " ").map(String.init)
            switch words[0] {
            case "S:":
                if !seen.isTransferring { try seen.expectNothing(before: line) }
                let bytes = Array((line.dropFirst(3) + "\r\n").utf8)
                for start in stride(from: 0, to: bytes.count, by: min(size, bytes.count)) {
                    var used = 0
                    let piece = bytes[start..<min(bytes.count, start + min(size, bytes.count))]
                    guard let reply = try parser.parse(piece, used: &used) else { continue }
                    // During a transfer, only answers to signs of life are taken.
                    if seen.isTransferring {
                        guard machine?.answersSign(reply) == true else { throw Difference("not expected: \(line)") }
                        machine?.noteAnsweredSign()
                        continue
                    }
                    seen.add { () throws(FTPError) in try machine?.receive(reply) }
                }
            case "C:", "=":
                if line == "= transferring", case .transfer = seen.action { continue }
                guard let next = seen.next else { throw Difference("nothing is wanted, but the file says: \(line)") }
                // Where to listen is chosen by the file.
                guard next == line || (next == "= listen" && line.hasPrefix(next)) else {
                    throw Difference("wanted is: \(next)\nthe file says: \(line)")
                }
                seen.confirm(words, &machine)
            case "settle":
                seen = Seen()
                seen.add { () throws(FTPError) in try machine?.settle() }
            case "sign":
                guard case .transfer = seen.action, let command = try machine?.signOfLife() else {
                    throw Difference("no sign of life can be given at: \(line)")
                }
                if command.verb != "NOOP" { throw Difference("the sign of life is \(command)") }
            case "usable", "unusable":
                guard machine?.isUsable == (words[0] == "usable") else { throw Difference("not so: \(line)") }
            case "login":
                isIPv6 = words.contains("ipv6")
                machine = FTPMachine(Self.login(words))
                seen.add { () throws(FTPError) in machine?.begin() }
            case "abort":
                seen = Seen()
                seen.add { () throws(FTPError) in try machine?.abort() }
            default:
                try seen.expectNothing(before: line)
                seen.add { () throws(FTPError) in try machine?.begin(Self.job(line, words), isIPv6: isIPv6) }
            }
        }
        try seen.expectNothing(before: "the end")
    }

    struct Difference: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// The action that the machine wants now, in the words of the file.
    private struct Seen {
        var action: FTPMachine.Action?
        var error: FTPError?

        mutating func add(_ event: () throws(FTPError) -> FTPMachine.Action?) {
            do throws(FTPError) {
                action = try event()
            } catch {
                self.error = error
                action = nil
            }
        }

        var next: String? {
            if let error {
                return error.code == .refused ? "= refused \(error.reply?.code ?? 0)" : "= failed \(error.code)"
            }
            switch action {
            case .send(let command): return "C: \(command)"
            case .connect(let port): return "= connect \(port)"
            case .startTLS: return "= startTLS"
            case .endTLS: return "= endTLS"
            case .listen: return "= listen"
            case .transfer: return "= transfer"
            case .ready: return "= ready"
            case .awaitReply, nil: return nil
            }
        }

        var isTransferring: Bool { if case .transfer = action { true } else { false } }

        func expectNothing(before line: String) throws {
            if let next { throw Difference("wanted is: \(next)\nthe file says: \(line)") }
        }

        /// Tells the machine that what it wanted has been done.
        mutating func confirm(_ words: [String], _ machine: inout FTPMachine?) {
            let done = action
            action = nil
            if error != nil {
                error = nil
                return
            }
            switch done {
            case .connect: add { () throws(FTPError) in try machine?.didConnect() }
            case .startTLS: add { () throws(FTPError) in try machine?.didStartTLS() }
            case .endTLS: add { () throws(FTPError) in machine?.didEndTLS() }
            case .transfer: add { () throws(FTPError) in machine?.didTransfer() }
            case .listen:
                guard let ip = IPAddress(words[2]), let port = UInt16(words[3]) else { return }
                add { () throws(FTPError) in try machine?.didListen(at: .ip(ip, port: port)) }
            default: break
            }
        }
    }

    private static func login(_ words: [String]) -> FTPMachine.Login {
        func value(_ name: String) -> String? {
            words.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        var login = FTPMachine.Login(
            user: Array((value("user") ?? "").utf8), password: Array((value("password") ?? "").utf8))
        login.account = value("account").map { Array($0.utf8) }
        login.proxyUser = value("proxyUser").map { Array($0.utf8) }
        login.proxyPassword = value("proxyPassword").map { Array($0.utf8) }
        login.isPassive = !words.contains("active")
        login.clearsControl = words.contains("ccc")
        switch value("tls") {
        case "required": login.control = .required
        case "preferred": login.control = .preferred
        case "implicit": login.control = .implicit
        default: break
        }
        login.data = value("data") == "required" ? .required : value("data") == "preferred" ? .preferred : .off
        return login
    }

    private static func job(_ line: String, _ words: [String]) throws(FTPError) -> FTPJob {
        let path = words.count > 1 ? Array(words[1].utf8) : []
        switch words[0] {
        case "retrieve":
            let offset = words.first { $0.hasPrefix("offset=") }.flatMap { UInt64($0.dropFirst(7)) } ?? 0
            return .retrieve(path, offset: offset, asksSize: words.contains("size"), isASCII: false)
        case "list": return .list(Array(line.dropFirst(5).utf8), .automatic)
        case "store": return .store(path, .replace, isASCII: false)
        case "append": return .store(path, .append, isASCII: false)
        case "raw": return .raw(try FTPCommand(words[1], argument: words.dropFirst(2).joined(separator: " ")))
        case "resume": return .store(path, .resume(UInt64(words[2]) ?? 0), isASCII: false)
        default: throw .badArgument("unknown job in a conversation: \(line)")
        }
    }
}
