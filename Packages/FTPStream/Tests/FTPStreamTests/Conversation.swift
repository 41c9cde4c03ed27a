import Foundation

@testable import FTPStream

/// A dialogue in a text file: replies of the server (`S:`), commands of the client (`C:`), other actions of the machine (`=`),
/// and jobs.
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

    /// Runs the dialogue with a new machine.
    ///
    /// - Parameter size: the number of bytes of a reply that arrive together.
    /// - Throws: A ``Difference`` between the machine and the file.
    func play(inPiecesOf size: Int = .max) throws {
        var machine: FTPMachine?
        var parser = FTPReplyParser()
        var observed = Observed()
        var isIPv6 = false
        for line in lines {
            let words = line.split(separator: " ").map(String.init)
            switch words[0] {
            case "S:":
                if !observed.isTransferring { try observed.expectNothing(before: line) }
                let bytes = Array((line.dropFirst(3) + "\r\n").utf8)
                for start in stride(from: 0, to: bytes.count, by: min(size, bytes.count)) {
                    var used = 0
                    let piece = bytes[start..<min(bytes.count, start + min(size, bytes.count))]
                    guard let reply = try parser.parse(piece, used: &used) else { continue }
                    // During a transfer, only replies to NOOPs are valid.
                    if observed.isTransferring {
                        guard machine?.takeKeepAliveReply(reply) == true else {
                            throw Difference("unexpected: \(line)")
                        }
                        continue
                    }
                    observed.add { () throws(FTPError) in try machine?.receive(reply) }
                }
            case "C:", "=":
                if line == "= transferring", case .transfer = observed.action { continue }
                guard let next = observed.next else {
                    throw Difference("the machine has no action, the file has: \(line)")
                }
                // The file determines the listening address.
                guard
                    next == line
                        || (["= listen", "= transfer"].contains(next) || next.hasPrefix("= connect"))
                            && line.hasPrefix(next + " ")
                else {
                    throw Difference("the machine has: \(next)\nthe file has: \(line)")
                }
                observed.confirm(words, &machine)
            case "resynchronize":
                observed = Observed()
                observed.add { () throws(FTPError) in try machine?.resynchronize() }
            case "noop":
                guard case .transfer = observed.action, let command = try machine?.keepAlive() else {
                    throw Difference("no NOOP can be sent at: \(line)")
                }
                if command.verb != "NOOP" { throw Difference("not a NOOP: \(command)") }
            case "usable", "unusable":
                guard machine?.isUsable == (words[0] == "usable") else { throw Difference("wrong: \(line)") }
            case "login":
                isIPv6 = words.contains("ipv6")
                machine = FTPMachine(Self.login(words))
                observed.add { () throws(FTPError) in machine?.begin() }
            case "abort":
                observed = Observed()
                observed.add { () throws(FTPError) in try machine?.abort() }
            default:
                try observed.expectNothing(before: line)
                observed.add { () throws(FTPError) in try machine?.begin(Self.job(line, words), isIPv6: isIPv6) }
            }
        }
        try observed.expectNothing(before: "the end")
    }

    struct Difference: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// The current action of the machine, in the notation of the file.
    private struct Observed {
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
            if let next { throw Difference("the machine has: \(next)\nthe file has: \(line)") }
        }

        /// Reports to the machine that its action has been performed.
        mutating func confirm(_ words: [String], _ machine: inout FTPMachine?) {
            let done = action
            action = nil
            if error != nil {
                error = nil
                return
            }
            switch done {
            case .connect where words.last == "fails": add { () throws(FTPError) in try machine?.didFailToConnect() }
            case .connect: add { () throws(FTPError) in try machine?.didConnect() }
            case .startTLS: add { () throws(FTPError) in try machine?.didStartTLS() }
            case .endTLS: add { () throws(FTPError) in machine?.didEndTLS() }
            case .transfer:
                // "= transfer 5" has transferred 5 bytes.
                let count = words.count > 2 ? UInt64(words[2]) : nil
                add { () throws(FTPError) in try machine?.didTransfer(count) }
            case .listen:
                guard let ip = IPAddress(words[2]), let port = UInt16(words[3]) else { return }
                add { () throws(FTPError) in try machine?.didListen(at: .ip(ip, port: port)) }
            default: break
            }
        }
    }

    private static func login(_ words: [String]) -> FTPLogin {
        func value(_ name: String) -> String? {
            words.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        var login = FTPLogin(
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
        case "command":
            return .commands([try FTPCommand(words[1], argument: words.dropFirst(2).joined(separator: " "))])
        case "resume": return .store(path, .resume(UInt64(words[2]) ?? 0), isASCII: false)
        default: throw .badArgument("unknown job in a conversation: \(line)")
        }
    }
}
