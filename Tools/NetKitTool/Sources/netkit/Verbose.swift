import Foundation
import NetKit

/// The output of `-v`: connection, certificates and heads of each request, as curl prints them, without secrets.
enum Verbose {
    /// Prints the requests of a load that have not been printed yet.
    static func show(_ course: LoadCourse) {
        for stream in course.takeNew() {
            for step in stream.report.steps { Terminal.say("* \(step.description)") }
            if let tls = stream[.tlsInformation] {
                let now = Int64(Date().timeIntervalSince1970)
                for line in CertificateTree.lines(tls, .errors, now: now) { Terminal.say("* \(line)") }
            }
            if let request = stream[.httpFinalRequest] {
                say(">", "\(request.method) \(request.target) \(request.version)", request.fields)
            }
            for interim in stream[.httpInterimResponses] ?? [] { say("<", interim.statusLine, interim.fields) }
            if let response = stream[.httpResponse] { say("<", response.statusLine, response.fields) }
        }
    }

    private static func say(_ sign: ShownText, _ line: String, _ fields: HTTPFields) {
        Terminal.say("\(sign) \(line)")
        for field in fields {
            let name = field.name.description
            Terminal.say("\(sign) \(name): \(LoadReport.shownValue(name, field.value))")
        }
        Terminal.say(sign)
    }
}
