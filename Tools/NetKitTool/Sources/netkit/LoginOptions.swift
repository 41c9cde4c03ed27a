import ArgumentParser
import Foundation
import Glibc
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

    @Option(
        help: ArgumentHelp(
            "Log in as USER where a proxy asks; the password is asked for on the terminal unless given.",
            valueName: "USER[:PASSWORD]"))
    var proxyUser: String?

    @Option(
        help: ArgumentHelp(
            "Schemes that may be used for proxies, as for --auth, which does not count for them.", valueName: "SCHEMES")
    )
    var proxyAuth: String?

    @Option(
        help: ArgumentHelp(
            "Let HOST act in the user's name elsewhere (Kerberos); repeatable. Only for hosts that are fully trusted.",
            valueName: "HOST"))
    var delegate: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            Ask for a Kerberos ticket only for HOST, also where a redirect leads there; repeatable, '*' for every host. \
            Default: the host of the URL.
            """,
            valueName: "HOST"))
    var negotiateHost: [String] = []

    @Option(
        help: ArgumentHelp(
            "Take passwords from the desktop's key ring, or from an encrypted FILE, whose pass-phrase is asked for on the terminal.",
            valueName: "keyring|FILE"))
    var passwordStore: String?

    @Flag(help: "Keep a password that was typed, once it was accepted, in the --password-store.")
    var savePassword = false

    @OptionGroup var netrc: NetrcOptions

    func validate() throws {
        let methods = try methods(auth, "--auth")
        if methods?.contains(.negotiate) == false, !delegate.isEmpty || !negotiateHost.isEmpty {
            throw ValidationError("--delegate and --negotiate-host are for Negotiate, which --auth leaves out.")
        }
        _ = try self.methods(proxyAuth, "--proxy-auth")
        if savePassword, passwordStore == nil {
            throw ValidationError("--save-password needs --password-store keyring or FILE, where it is kept.")
        }
    }

    /// Whether a 401 is to be answered.
    var isUsed: Bool {
        user != nil || auth != nil || netrc.isUsed || passwordStore != nil || !delegate.isEmpty
            || !negotiateHost.isEmpty
    }

    /// Whether a 407 is to be answered with more than the user of the proxy's URL.
    var isUsedForProxies: Bool { proxyUser != nil || proxyAuth != nil || passwordStore != nil }

    /// The options given that have a meaning only with HTTP.
    var optionsOfHTTP: [String] {
        [
            ("--auth", auth != nil), ("--proxy-user", proxyUser != nil), ("--proxy-auth", proxyAuth != nil),
            ("--delegate", !delegate.isEmpty), ("--negotiate-host", !negotiateHost.isEmpty),
            ("--password-store", passwordStore != nil), ("--save-password", savePassword),
        ].filter(\.1).map(\.0)
    }

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
        configuration.policy.methods = try methods(auth, "--auth") ?? configuration.policy.methods
        configuration.policy.methods = configuration.policy.methods.map { $0 == .negotiate ? negotiate : $0 }
        var proxyPolicy = AuthenticationPolicy()
        proxyPolicy.methods = try methods(proxyAuth, "--proxy-auth") ?? proxyPolicy.methods
        configuration.proxyPolicy = proxyPolicy
        if let file = try netrc.file() { configuration.stores.origins.append(file) }
        if let store = try store() {
            // Told now rather than when a server has asked. What is kept names the role, so that one store does for both.
            try store.check()
            configuration.stores.origins.append(store)
            configuration.stores.proxies.append(store)
        }
        let person = Person(
            proxyUser: proxyUser, loginsToServers: isUsed, loginsToProxies: isUsedForProxies,
            savesPassword: savePassword)
        configuration.prompt = { await person.answer($0) }
        return configuration
    }

    /// The store of `--password-store`; a file that is named like the key ring is written `./keyring`.
    private func store() throws(HTTPAuthError) -> (any CredentialStore)? {
        guard let path = passwordStore else { return nil }
        if path == "keyring" { return SecretServiceStore() }
        let isNew = access(path, F_OK) != 0
        if isNew, !savePassword {
            throw HTTPAuthError(
                .storeUnavailable, detail: "there is no \(path); --save-password makes it, 'keyring' needs no file")
        }
        guard let terminal = PasswordTerminal(),
            let phrase = terminal.secret("\(isNew ? "New pass-phrase" : "Pass-phrase") of \(Terminal.shown(path)): ")
        else { throw HTTPAuthError(.storeLocked, detail: "there is no terminal to ask for the pass-phrase of \(path)") }
        if isNew, terminal.secret("The same again: ") != phrase {
            throw HTTPAuthError(.storeLocked, detail: "the two pass-phrases differ")
        }
        return CredentialFile(path: path, key: .passphrase(phrase))
    }

    private var negotiate: AuthenticationMethod {
        var options = NegotiateOptions()
        if !delegate.isEmpty { options.delegation = .toHosts(Set(delegate)) }
        if !negotiateHost.isEmpty { options.hosts = negotiateHost.contains("*") ? .all : .list(Set(negotiateHost)) }
        return .negotiate(options)
    }

    private func methods(_ list: String?, _ option: String) throws -> [AuthenticationMethod]? {
        guard let list, list.lowercased() != "any" else { return nil }
        return try list.split(separator: ",").map { name in
            guard
                let method = AuthenticationPolicy().methods.first(where: { $0.name.lowercased() == name.lowercased() })
            else {
                throw ValidationError("\(option) knows any, negotiate, ntlm, digest and basic, and not '\(name)'.")
            }
            return method
        }
    }
}

/// Passwords from a file.
struct NetrcOptions: ParsableArguments {
    @Flag(help: "Take passwords from $NETRC or ~/.netrc.")
    var netrc = false

    @Option(help: ArgumentHelp("Take passwords from FILE, in the form of netrc.", valueName: "FILE"))
    var netrcFile: String?

    /// Whether there may be passwords to send.
    var isUsed: Bool { netrc || netrcFile != nil }

    /// The file; nil if none is wanted.
    func file() throws -> NetrcFile? {
        let environment = ProcessInfo.processInfo.environment
        let usual = environment["NETRC"] ?? environment["HOME"].map { $0 + "/.netrc" }
        return try (netrcFile ?? (netrc ? usual : nil)).map { try NetrcFile(path: $0) }
    }
}
