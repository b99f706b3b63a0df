# a key of a hundred thousand parts, each a table in the one before
head -c 200000 /dev/zero | tr '\0' 'a' | sed 's/aa/a./g; s/.$/a = 1/' > "$1/predictions.toml"
