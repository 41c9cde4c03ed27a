import Foundation
import Glibc
import NetKit

/// The terminal of this process, to ask for user names and passwords whatever the standard streams are.
final class PasswordTerminal: Sendable {
    private let descriptor: Int32

    /// Nil if this process has no terminal.
    init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Asks what a server wants to know; nil if the person gives up with Ctrl-C or Ctrl-D.
    func ask(_ question: AuthenticationPrompt) -> AuthenticationPrompt.Answer? {
        Terminal.write("netkit: \(question.text)\n", to: descriptor)
        let user: String
        if let known = question.user {
            user = known
        } else {
            guard let typed = line("User: ", echoes: true) else { return nil }
            user = typed.withBytes { String(decoding: $0, as: UTF8.self) }
        }
        guard let password = line("Password of \(Terminal.shown(user)): ", echoes: false) else { return nil }
        return AuthenticationPrompt.Answer(user: user, password: password)
    }

    /// Asks for a password alone; nil if the person gives up.
    func password(of user: String) -> String? {
        line("Password of \(Terminal.shown(user)): ", echoes: false)?.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Asks for a secret; nil if the person gives up.
    func secret(_ prompt: ShownText) -> Secret? { line(prompt, echoes: false) }

    /// A line, read a byte at a time so that Ctrl-C ends the question and leaves the terminal as it was.
    private func line(_ prompt: ShownText, echoes: Bool) -> Secret? {
        var saved = termios()
        guard tcgetattr(descriptor, &saved) == 0 else { return nil }
        var quiet = saved
        quiet.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        tcsetattr(descriptor, TCSAFLUSH, &quiet)
        defer { tcsetattr(descriptor, TCSAFLUSH, &saved) }
        Terminal.write(prompt, to: descriptor)
        defer { Terminal.write("\n", to: descriptor) }

        // One allocation, overwritten at the end: growing would leave copies of the password behind.
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 1)
        defer {
            if let address = bytes.baseAddress { explicit_bzero(address, bytes.count) }
            bytes.deallocate()
        }
        var count = 0
        while true {
            var byte: UInt8 = 0
            let moved = read(descriptor, &byte, 1)
            if moved < 0, errno == EINTR { continue }
            guard moved == 1 else { return nil }
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return Secret(bytes: bytes[..<count])
            case 3, 4: return nil
            case 8, 0x7F:
                // A whole character of UTF-8.
                while count > 0 {
                    count -= 1
                    if bytes[count] & 0xC0 != 0x80 { break }
                }
                if echoes { Terminal.write("\r\u{1B}[K\(prompt)\(shown(bytes[..<count]))", to: descriptor) }
            case 21: count = 0
            case 0x20...0xFF where count < bytes.count:
                bytes[count] = byte
                count += 1
                if echoes { _ = write(descriptor, &byte, 1) }
            default: break
            }
        }
    }

    private func shown(_ bytes: Slice<UnsafeMutableRawBufferPointer>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}

/// Who answers when a server or proxy wants a password: the command line, then the person at the terminal.
struct Person: Sendable {
    /// `USER` or `USER:PASSWORD`; that for the server is in the URL.
    let proxyUser: String?
    let loginsToServers: Bool
    let loginsToProxies: Bool
    let savesPassword: Bool

    func answer(_ question: AuthenticationPrompt) async -> AuthenticationPrompt.Answer? {
        var question = question
        let isProxy = question.space.role == .proxy
        if isProxy, let proxyUser {
            let words = proxyUser.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            question.user = words[0]
            // The command line agrees to no weaker login than was asked for before; only the person at the terminal can.
            if words.count > 1, question.failure == nil, question.downgrade == nil {
                return .init(user: words[0], password: words[1])
            }
        }
        // Whoever was not told to log in does not.
        guard question.user != nil || (isProxy ? loginsToProxies : loginsToServers) else { return nil }
        guard let terminal = PasswordTerminal() else {
            Terminal.say("netkit: \(question.text) There is no terminal to ask for them.")
            return nil
        }
        return await withCheckedContinuation { [question] continuation in
            // Typing takes a while: on a thread of its own.
            Thread.detachNewThread {
                var answer = terminal.ask(question)
                answer?.saves = savesPassword
                continuation.resume(returning: answer)
            }
        }
    }
}
