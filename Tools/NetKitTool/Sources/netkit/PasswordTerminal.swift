import Foundation
import Glibc
import NetKit

/// The controlling terminal, for user names and passwords, even if the standard streams are redirected.
final class PasswordTerminal: Sendable {
    private let descriptor: Int32

    /// Opens the terminal; nil if the process has none.
    init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// The user has cancelled a question with Ctrl-D.
    struct Cancelled: Error, CustomStringConvertible {
        let user: String
        var description: String { "No password was typed for \(user)." }
    }

    /// Asks for a login; nil if the user cancels with Ctrl-D. Ctrl-C ends the program.
    func ask(_ question: AuthenticationPrompt) -> AuthenticationPrompt.Answer? {
        Terminal.write("netkit: \(question.text)\n", to: descriptor)
        let user: String
        if let known = question.user {
            user = known
        } else {
            guard let typed = line("User: ", echoes: true) else { return nil }
            user = typed.withBytes { String(decoding: $0, as: UTF8.self) }
        }
        guard let password = line("Password for \(Terminal.shown(user)): ", echoes: false) else { return nil }
        return AuthenticationPrompt.Answer(user: user, password: password)
    }

    /// Asks for a password; nil if the user cancels.
    func password(of user: String) -> String? {
        line("Password for \(Terminal.shown(user)): ", echoes: false)?.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Asks for a secret; nil if the user cancels.
    func secret(_ prompt: ShownText) -> Secret? { line(prompt, echoes: false) }

    /// Reads a line, byte by byte so that the terminal's mode is restored in each case.
    private func line(_ prompt: ShownText, echoes: Bool) -> Secret? {
        var saved = termios()
        guard tcgetattr(descriptor, &saved) == 0 else { return nil }
        var quiet = saved
        quiet.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        tcsetattr(descriptor, TCSAFLUSH, &quiet)
        defer { tcsetattr(descriptor, TCSAFLUSH, &saved) }
        Terminal.write(prompt, to: descriptor)
        defer { Terminal.write("\n", to: descriptor) }

        // One allocation, overwritten at the end: a growing buffer would leave copies of the password in memory.
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 1)
        defer {
            if let address = bytes.baseAddress { explicit_bzero(address, bytes.count) }
            bytes.deallocate()
        }
        var count = 0
        while true {
            var byte: UInt8 = 0
            let moved = SystemCall.retrying { read(descriptor, &byte, 1) }
            guard moved == 1 else { return nil }
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return Secret(bytes: bytes[..<count])
            case 3:
                // As if the terminal had sent the signal, in its usual mode.
                tcsetattr(descriptor, TCSAFLUSH, &saved)
                Terminal.write("\n", to: descriptor)
                signal(SIGINT, SIG_DFL)
                kill(getpid(), SIGINT)
                return nil
            case 4: return nil
            case 8, 0x7F:
                // Removes a whole UTF-8 character.
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

/// Answers a server's or proxy's request for a login: from the command line, or else by asking at the terminal.
final class LoginPrompt: Sendable {
    /// `USER` or `USER:PASSWORD`; the login for the server is in the URL.
    private let proxyUser: String?
    private let answersServers: Bool
    private let answersProxies: Bool
    private let savesPassword: Bool
    private let open = Locked<[ProtectionSpace.Role: AuthenticationPrompt]>([:])

    /// - Parameters:
    ///   - answersServers: whether to ask for the user name if the URL of a server has none.
    ///   - answersProxies: the same for proxies.
    ///   - savesPassword: whether to save what is typed.
    init(proxyUser: String?, answersServers: Bool, answersProxies: Bool, savesPassword: Bool) {
        self.proxyUser = proxyUser
        self.answersServers = answersServers
        self.answersProxies = answersProxies
        self.savesPassword = savesPassword
    }

    /// The last question from a server or proxy that was not answered; nil if each was.
    func unanswered(_ role: ProtectionSpace.Role) -> AuthenticationPrompt? { open.withLock { $0[role] } }

    func answer(_ question: AuthenticationPrompt) async -> AuthenticationPrompt.Answer? {
        var question = question
        if question.space.role == .proxy, let proxyUser {
            let login = UserAndPassword(proxyUser)
            question.user = login.user
            // A login weaker than an earlier one needs the user's consent, which only the terminal can give.
            if let password = login.password, question.failure == nil, question.downgrade == nil {
                return .init(user: login.user, password: password)
            }
        }
        let answer = await ask(question)
        if answer == nil { open.withLock { $0[question.space.role] = question } }
        return answer
    }

    private func ask(_ question: AuthenticationPrompt) async -> AuthenticationPrompt.Answer? {
        // Without a user name or an option for logins, a challenge is not answered.
        guard question.user != nil || (question.space.role == .proxy ? answersProxies : answersServers),
            let terminal = PasswordTerminal()
        else { return nil }
        return await withCheckedContinuation { continuation in
            // Typing blocks, so it gets a thread of its own.
            Thread.detachNewThread { [savesPassword] in
                var answer = terminal.ask(question)
                answer?.saves = savesPassword
                continuation.resume(returning: answer)
            }
        }
    }
}
