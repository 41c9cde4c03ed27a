import Foundation
import HTTPAuth
import HTTPMessage
import StreamKit

/// Loads a URL over one connection with HTTPAuth, and prints the result: for tests that need a separate environment, from which
/// Kerberos reads its configuration.
@main enum Login {
    static let usage = """
        usage: login URL [OPTION VALUE]...

          --schemes LIST    negotiate,ntlm (the default), in order
          --user NAME  --password TEXT  --domain NAME  --hash HEX
          --cache NAME  --keytab PATH  --principal NAME  --kinit yes
          --mutual off|optional|required  --delegate HOST  --service NAME  --canonical yes  --inner-ntlm yes
          --binding HEX     the hash of the server's certificate
          --root FILE       the certificate authority to trust
          --limit MS        for the work that may block
          --times N         so many requests over the connection
          --session yes     by an HTTPSession, with what it binds to; and there:
          --proxy PORT      through the proxy at localhost, where --proxy-domain is the user's
          --proxy-tls yes   and TLS to that proxy
          --socks PORT      through the SOCKS proxy at localhost before all others
          --between SCRIPT  what sh runs between two requests, $1 being the number of the first one; errors do not end it
          --body N          as a POST of so many bytes
          --also URL        every second request goes there

        Prints a line "STATUS BODY" for each answer that is not another leg, or "error CODE SENTENCE".
        """

    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        guard !arguments.isEmpty, arguments.count % 2 == 1, let url = URL(string: arguments.removeFirst()) else {
            print(usage)
            exit(2)
        }
        var options: [String: String] = [:]
        for index in stride(from: 0, to: arguments.count, by: 2) { options[arguments[index]] = arguments[index + 1] }
        do {
            let settings = try Settings(options)
            if options["--session"] != nil { return try await SessionLogin(options, settings).run(url) }
            var connection = try await HTTPConnection(to: url, root: options["--root"])
            var authentication: HTTPAuthentication?
            for _ in 0..<(Int(options["--times"] ?? "1") ?? 1) {
                try await load(url, over: &connection, &authentication, settings)
            }
        } catch let error as HTTPAuthError {
            print("error \(error.code) \(error)")
        } catch {
            print("error other \(error)")
        }
    }

    /// One request, in as many steps as the login takes.
    private static func load(
        _ url: URL, over connection: inout HTTPConnection, _ authentication: inout HTTPAuthentication?,
        _ settings: Settings
    ) async throws {
        for leg in 1...8 {
            var request = try HTTPRequest(method: .get, url: url)
            try request.fields.set("localhost", for: .host)
            if let authentication {
                let credential = settings.credential(for: authentication)
                try await authentication.apply(to: &request, credential, channelBinding: settings.binding)
            }
            let (response, body) = try await connection.answer(to: request)
            let text = String(decoding: body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            if let current = authentication {
                switch try current.update(with: response, to: request, body: .bytes(body)) {
                case .apply: continue
                case .accepted: return print("\(response.status.code) \(text)")
                case .refused: return print("\(response.status.code) refused after \(leg) legs: \(text)")
                case .otherRealm, .failed: throw current.error ?? HTTPAuthError(.noUsableScheme)
                }
            }
            guard
                let first = HTTPAuthentication(
                    response: response, policy: settings.policy, workTimeout: settings.limit)
            else { return print("\(response.status.code) \(text)") }
            if let error = first.error { throw error }
            authentication = first
        }
        print("error legs too many")
    }
}
