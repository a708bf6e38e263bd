# Writes to OUTPUT, for C++ to include, the text of INPUT. Literals of that size are
# no trouble to compilers that build Attn.

file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "R\"attn-docs(${text})attn-docs\"")
