# Makes properties.tsv from librdkafka's own CONFIGURATION.md:
#   awk -f properties.awk path/to/librdkafka/CONFIGURATION.md > properties.tsv
# A name that librdkafka has both for a client and for a topic keeps its first, global, meaning.
BEGIN {
    FS = " *[|] "; OFS = "\t"
    # What the page says only in its prose.
    values["partitioner"] = "random consistent consistent_random murmur2 murmur2_random fnv1a fnv1a_random"
    values["sasl.mechanisms"] = values["sasl.mechanism"] = "GSSAPI PLAIN SCRAM-SHA-256 SCRAM-SHA-512 OAUTHBEARER"
    # -1 is "all"; brokers take no other number.
    values["acks"] = values["request.required.acks"] = "all -1 0 1"
    # 0 takes the limit away.
    range["queue.buffering.max.messages"] = "1 2147483647"
    print "# librdkafka's settings: name, P(roducer) C(onsumer) or * both, type, range or values, what it is another name of."
    print "# Made by properties.awk; don't edit."
}
match($0, /\*Type: [a-zA-Z ]+\*/) {
    type = substr($0, RSTART + 7, RLENGTH - 8)
    name = $1; scope = $2; allowed = $3
    gsub(/ /, "", name); gsub(/ /, "", scope); sub(/^ +/, "", allowed); sub(/ +$/, "", allowed)
    if (seen[name]++) next
    alias = match($0, /Alias for `[^`]+`/) ? substr($0, RSTART + 11, RLENGTH - 12) : ""
    if (type == "integer" || type == "float") { sub(/ \.\. /, " ", allowed) }
    else if (type == "boolean") { allowed = "" }
    else if (type == "enum value") { type = "enum"; gsub(/, /, " ", allowed) }
    else if (type == "CSV flags") { type = "flags"; gsub(/, /, " ", allowed) }
    else if (type == "see dedicated API") { type = "code"; allowed = "" }
    else { type = "text"; allowed = "" }
    if (name in values) { type = "enum"; allowed = values[name] }
    if (name in range) allowed = range[name]
    print name, scope, type, allowed, alias
}
