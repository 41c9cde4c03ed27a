import ArgumentParser
import Foundation
import NetKit

/// How `netkit get` logs in.
struct LoginOptions: ParsableArguments {
    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp(
            "Log in as USER where the server asks; the password is asked for on the terminal unless given. It goes to no other server.",
            valueName: "USER[:PASSWORD]"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "Schemes that may be used, the first choice first: any, or some of negotiate,ntlm,digest,basic.",
            valueName: "SCHEMES"))
    var auth: String?

    @OptionGroup var netrc: NetrcOptions

    func validate() throws {
        _ = try methods()
    }

    /// Whether a 401 is to be answered.
    var isUsed: Bool { user != nil || auth != nil || netrc.isUsed }

    /// The URL with the user of the command line.
    func url(for url: URL) -> URL {
        guard let user, var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
        let words = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        parts.user = String(words[0])
        parts.password = words.count > 1 ? String(words[1]) : nil
        return parts.url ?? url
    }

    func configuration() throws -> HTTPSession.Configuration {
        var configuration = HTTPSession.Configuration()
        if let methods = try methods() { configuration.policy.methods = methods }
        if let file = try netrc.file() { configuration.stores.origins.append(file) }
        configuration.prompt = { question in
            guard let terminal = PasswordTerminal() else { return nil }
            return await withCheckedContinuation { continuation in
                // Typing takes a while: on a thread of its own.
                Thread.detachNewThread { continuation.resume(returning: terminal.ask(question)) }
            }
        }
        return configuration
    }

    private func methods() throws -> [AuthenticationMethod]? {
        guard let auth, auth.lowercased() != "any" else { return nil }
        return try auth.split(separator: ",").map { name in
            guard
                let method = AuthenticationPolicy().methods.first(where: { $0.name.lowercased() == name.lowercased() })
            else {
                throw ValidationError("--auth knows any, negotiate, ntlm, digest and basic, and not '\(name)'.")
            }
            return method
        }
    }
}
