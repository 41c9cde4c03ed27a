import Foundation
import NetKit

/// The output of `-v`: connection, certificates and heads of each request, as curl prints them, without logins.
enum Verbose {
    /// Prints the requests of a load that have not been printed yet.
    static func show(_ course: LoadCourse, hidesCookies: Bool) {
        for stream in course.takeNew() {
            for step in stream.shownReport.steps { Terminal.say("* \(step.description)") }
            if let tls = stream[.tlsInformation] {
                let now = Int64(Date().timeIntervalSince1970)
                for line in CertificateTree.lines(tls, .errors, now: now) { Terminal.say("* \(line)") }
            }
            if let request = stream[.httpFinalRequest] {
                say(
                    ">", "\(request.method) \(request.target) \(request.version.shown)", request.fields,
                    LoadReport.shownValue
                )
            }
            for response in (stream[.httpInterimResponses] ?? []) + (stream[.httpResponse].map { [$0] } ?? []) {
                say("<", response.firstLine, response.fields) { name, value in
                    name.lowercased() == "set-cookie" && !hidesCookies ? value : LoadReport.shownValue(name, value)
                }
            }
        }
    }

    private static func say(
        _ sign: ShownText, _ line: String, _ fields: HTTPFields, _ shown: (_ name: String, _ value: String) -> String
    ) {
        Terminal.say("\(sign) \(line)")
        for field in fields {
            let name = field.name.description
            Terminal.say("\(sign) \(name): \(shown(name, field.value))")
        }
        Terminal.say(sign)
    }
}
